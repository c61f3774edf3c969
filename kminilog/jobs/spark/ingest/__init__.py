"""The tasks of an ingest, on Spark's executors."""
