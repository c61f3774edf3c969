"""Sources that Spark reads, because SQL is asked for, or columns that are no text.

In reading order:

    file_source   the records of text, CSV and JSON files as a Spark data source
    row_json      a row as JSON that loses nothing
    nanoseconds   Parquet's timestamps in nanoseconds: texts with all their digits
    records       all formats together: the DataFrame of records with key, value and place
    own_session   how many bytes a job reads, and hands to Python, at once; tasks of a shuffle
"""
