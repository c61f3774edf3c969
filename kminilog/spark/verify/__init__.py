"""Verification on Spark's executors; what is verified stands in `verification` and `accounting`.

In reading order:

    storage_checks   the checks of `verification`, in tasks
    engine           both sides of a comparison read in tasks, rows moved by shuffles
    job              a verification in a session that is there
"""
