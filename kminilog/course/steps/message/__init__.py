"""Step-throughs of one message: its bytes, and who notices a change."""
