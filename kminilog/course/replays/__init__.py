"""Replays: scripted scenes with real files and simulated time, as plain values."""
