"""Verification as Spark jobs: the storage checks, and every record of a source against the log.

In reading order:

    log_source           the messages of a topic as a DataFrame, damage passed over
    storage_checks       the checks of `verification`, in tasks
    expected_partition   in which partition a record belongs, as far as that can be known
    rejections           which records are known to be rejected, and so are not missing
    account              every record of a source against every message of a topic
    altered              a missing record and an extra message in one place: an altered record
    source_check         the account of a source in a report
    job                  storage checks and account, in one report
"""
