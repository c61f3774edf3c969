"""Replays of the documents' figures: real files and simulated time, as plain values."""
