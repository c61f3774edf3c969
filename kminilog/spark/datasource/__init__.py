"""The data source `kminilog`: read and write a log from Spark."""
