"""From the files of a source to records with a key, a value and a place; no Spark in here.

Nothing in this folder knows what becomes of the records. In reading order:

    description       what a source is: files, format, key and value
    files             which files a source has, in source order
    compression       how a file is compressed, and how to read its content
    json_levels       how many levels a JSON line has
    formats           text, CSV and JSON lines: from bytes to records, or an error
    places            the place of a record as one number; where a stretch of the source breaks off
    pieces            large files in pieces, so that several tasks read one file
    task_groups       how many files, or pieces, one task gets
    tasks             work in tasks, here or on Spark's executors
    line_columns      the lines of a file as Arrow columns
    csv_columns       the fields of CSV files as Arrow columns
    json_columns      the members of JSON lines as Arrow columns
    file_columns      keys and values of such files
    parquet_columns   keys and values that are Parquet columns
    columns           all together: which sources can be read so
"""
