"""The format: the bytes of a message and an index entry, and the names of files. Opens no file."""
