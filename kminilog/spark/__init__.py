"""The Spark jobs: bulk ingest, verification, and the log as a data source.

A folder imports only folders above it. In reading order:

    runtime      Spark itself: session, errors, tasks, what executors must have
    datasource   the format `kminilog`: read, follow and write topics in plain PySpark
    ingest       the tasks of an ingest, on executors
    verify       the storage checks and the account of a source, on executors

What needs no Spark stands outside: `source`, `ingest`, `accounting`.
"""
