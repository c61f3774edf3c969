"""Step-throughs of the producer."""
