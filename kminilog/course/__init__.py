"""The labs: their runner, their checks, and the proof that wrong answers are caught."""
