"""Bulk ingest: the records of a source become messages of a topic, all of them or none.

In reading order:

    job_identity   does a job id name this job, or was it used for another one?
    screening      why a record cannot be a message of a topic
    quarantine     the file that holds rejected records, with the reason and the place of each
    staging        tasks that write in staging, each attempt in a directory of its own
    placing        records as messages with their partition and order, ready for the shuffle
    runs           the plan without a shuffle: each task writes what it reads, then runs are joined
    plans          the two plans, *sorted* and *runs*, and which one to take
    job            the whole ingest, from records to publication
"""
