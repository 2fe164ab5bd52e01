"""Take in, split, index, list and delete the files of a group."""
