"""The jobs on Spark, and the log as a data source of Spark.

runtime      Spark itself: session, errors, tasks, what executors must have
datasource   the format `kminilog`: read, follow and write topics in plain PySpark
ingest       the tasks of an ingest, on executors
verify       the storage checks and the account of a source, on executors
"""
