"""Bulk jobs: from sources to topics, what became of each record, and Spark to run it all."""
