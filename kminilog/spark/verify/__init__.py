"""Storage checks and the account of a source, in Spark tasks."""
