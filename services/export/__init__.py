"""Everything that the records hold, as one file for other programs."""
