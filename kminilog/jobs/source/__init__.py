"""From the files of a source to records with a key, a value and a place; no Spark in here.

Nothing in this folder knows what becomes of the records.
"""
