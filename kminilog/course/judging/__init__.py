"""From a student's file to one of five states: in three layers, in processes with limits."""
