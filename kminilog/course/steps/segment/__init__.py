"""Step-throughs of a segment: append, index, crash."""
