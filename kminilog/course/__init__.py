"""The course: labs and their runner, step-throughs, and replays of the documents' examples."""
