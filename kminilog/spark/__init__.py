"""The Spark jobs: bulk ingest, verification, and the log as a data source.

Five folders, in reading order. A folder imports only folders above it:

    runtime      Spark itself: session, errors, tasks, what executors must have
    source       from files to records with a key, a value and a place
    ingest       from records to segments that become part of a topic, all of them or none
    datasource   the format `kminilog`: read, follow and write topics in plain PySpark
    verify       the storage checks in tasks, and every record of a source against the log
"""
