"""Bulk ingest: the records of a source become part of a topic, all of them or none.

This process or Spark runs the tasks.
"""
