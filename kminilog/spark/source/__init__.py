"""From the files of a source to records with a key, a value and a place.

Nothing in this folder knows what becomes of the records. In reading order:

    files             which files a source has, in source order
    compression       how a file is compressed, and how to read its content
    formats           text, CSV and JSON lines: from bytes to records, or an error
    line_columns      the lines of a file as Arrow columns
    csv_columns       the fields of CSV files as Arrow columns
    json_columns      the members of JSON lines as Arrow columns
    file_source       the records of such files as a Spark data source
    row_json          a row as JSON that loses nothing
    nanoseconds       Parquet's timestamps in nanoseconds: texts with all their digits
    records           all formats together: the DataFrame of records with key, value and place
    own_session       how many bytes a job reads, and hands to Python, at once; tasks of a shuffle
    parquet_columns   keys and values that are Parquet columns: tasks read them without the JVM
    file_columns      keys and values of such files: tasks read them without the JVM
    task_columns      both together: which sources can be read so
"""
