"""The Spark jobs: bulk ingest, verification, and the log as a data source."""
