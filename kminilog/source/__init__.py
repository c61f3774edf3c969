"""From the files of a source to records with a key, a value and a place; no Spark in here.

Nothing in this folder knows what becomes of the records. In reading order:

    task_groups       how many files, or pieces of files, one task gets
    tasks             work in tasks: the interface, and a runner in this process
    files             which files a source has, in source order
    compression       how a file is compressed, and how to read its content
    description       what a source is: files, format, key and value
    longest_record    how long a record may be
    json_levels       how many levels a JSON line has
    formats           CSV and JSON lines: from bytes to the fields of records, or an error
    places            the place of a record as one number
    pieces            large files in pieces, so that several tasks read one file
    line_columns      the lines of a file as Arrow columns
    csv_cuts          where large CSV files are cut: between records
    csv_columns       the fields of CSV files as Arrow columns
    json_columns      the members of JSON lines as Arrow columns
    row_json          Arrow columns as texts: keys and values, and rows as JSON
    file_columns      keys and values of text, CSV and JSON files
    parquet_columns   keys and values of Parquet files
    columns           all together: one reader for each format
    reading_again     a few records once more, by their places
"""
