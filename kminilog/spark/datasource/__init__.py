"""The data source `kminilog`: read, follow and write topics in plain PySpark.

In reading order:

    options           the options of a read or a write, from texts to values
    table_options     the options of a table in Spark's catalog, kept in its schema
    ranges            which messages of which segments one task reads
    batch_reader      a batch read
    stream_reader     a streaming read; its position is the next offset of each partition
    commit            what tasks have written becomes part of a topic, once per job
    writer            rows become messages: one batch, or micro-batches
    door              the class that Spark asks for readers and writers; `register`
"""
