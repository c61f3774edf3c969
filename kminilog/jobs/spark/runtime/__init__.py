"""Spark itself: its session, its errors, its tasks, and what a job needs of its executors.

Nothing in this folder knows what a job does.
"""
