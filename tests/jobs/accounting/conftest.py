"""The Spark session of all tests, for those that compare engines."""

from tests.jobs.spark.conftest import spark

__all__ = ["spark"]
