"""The tasks of an ingest, on Spark's executors.

In reading order:

    sink      rows that tasks write in staging, as a Spark data sink
    placing   records as messages with their partition and order, ready for the shuffle
    plans     the two plans, *sorted* and *runs*, and which one to take
    job       the whole ingest, in a session
"""
