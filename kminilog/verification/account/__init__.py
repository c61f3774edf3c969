"""Is every record of a source stored exactly once, and in order? Two steps that answer this.

    checksum_pass  sums of both sides, in one pass over each; equal sums are the answer
    row_join       where sums differ: each record beside its message

No Spark in here. An engine reads both sides and moves rows: this process, or Spark.
"""
