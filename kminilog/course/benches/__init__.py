"""Benches: places to play with the engine, in the playground."""
