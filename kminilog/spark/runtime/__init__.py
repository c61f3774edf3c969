"""Spark itself: its session, its errors, its tasks, and what a job needs of its executors.

Nothing in this folder knows what a job does. In reading order:

    failures          Spark's exceptions become errors of kminilog, in one line
    session           the one way to a Spark session
    tasks             one task for each item
    executor_checks   can the executors do what a job needs? asked before the job starts
"""
