"""The data source `kminilog`: read, follow and write topics in plain PySpark."""
