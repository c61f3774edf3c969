"""Spark itself: its session, its errors, its tasks, and what its executors lack."""
