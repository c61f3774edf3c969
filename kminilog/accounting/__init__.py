"""Is every record of a source stored exactly once, and in order? Two steps that answer this.

    checksum_pass  sums of both sides, in one pass over each; equal sums are the answer
    row_join       where sums differ: each record beside its message

No Spark in here. An engine reads both sides and moves rows: this process, or Spark. In reading
order:

    digests        128 bits for each record: the same for the same key and value
    modular        arithmetic modulo a prime, on whole columns
    sums           sums that tell if two sequences of records are the same
    rows           the rows that are compared: records and messages without their values
    expected       in which partition a record belongs, as far as that can be known
    rejections     which records are known to be rejected, and so are not missing
    log_parts      the whole messages of a topic, part by part; damage is skipped
    sides          both sides of a comparison: batches become rows
    checksum_pass  sums of both sides, each in one pass
    account        what became of records and messages: counts and samples
    pairing        records beside their messages: copies are numbered and paired
    alterations    a missing record and an extra message in one place: an altered record
    row_join       rows of both sides, moved by an engine and paired
    engine         what an engine does for verification
    comparison     the account of a source, in one pass or two
    shown_samples  what samples hold: their records and messages, read again
    source_check   the account of a source in a report
    job            storage checks and accounting, in one report
    local_reader   a source and its log, read in this process
    local_engine   verification in this process
"""
