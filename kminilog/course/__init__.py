"""The course: labs and their runner, step-throughs, and marks."""
