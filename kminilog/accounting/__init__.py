"""Is every record of a source stored exactly once, and in order? Two steps that answer this.

    first    sums of both sides, in one pass over each; equal sums are the answer  (sums.py)
    second   where sums differ: each record beside its message                     (pairing.py)

No Spark in here. An engine reads both sides and moves rows (engine.py): this process, or Spark.
"""
