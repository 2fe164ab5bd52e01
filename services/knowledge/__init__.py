"""A group's files: taken in, split, indexed, listed and deleted."""
