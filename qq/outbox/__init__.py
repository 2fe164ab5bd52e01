"""Everything that the bot sends: who is next, in which format, and over which connection."""
