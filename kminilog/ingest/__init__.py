"""Bulk ingest: the records of a source become part of a topic, all of them or none.

This process or Spark runs the tasks. In reading order:

    job_writer     the writer of a log dir, as a job opens it; the staging directory of a job
    job_identity   is a committed job the one that is asked for?
    screening      why a record can be no message of a topic
    quarantine     the records that are rejected
    staging        tasks that write in staging
    runs           what each task has read becomes segments, which are joined afterwards
    job            from records to staged segments, then publication
    local_engine   the tasks of a job in this process
"""
