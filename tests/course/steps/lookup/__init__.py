"""Step-throughs of the search for an offset."""
