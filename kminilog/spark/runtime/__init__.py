"""Spark itself: its session, its errors, its tasks, and what a job needs of its executors.

Nothing in this folder knows what a job does. In reading order:

    failures          Spark's exceptions become errors of kminilog, in one line
    session           the one way to a Spark session
    driver_rows       a few rows that the driver has, as a DataFrame to join with
    task_groups       how many files, or pieces of files, one task gets
    tasks             one task for each item
    job_writer        the writer of a log dir, which waits for the lock; a job's staging directory
    executor_checks   can the executors do what a job needs? asked before the job starts
"""
