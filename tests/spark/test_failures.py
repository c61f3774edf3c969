"""Spark's exceptions in one line. Those of real jobs are met where the jobs are tested."""

from kminilog.spark.failures import translate

OUT_OF_MEMORY = """An error occurred while calling o42.save.
: org.apache.spark.SparkException: Job aborted due to stage failure
Caused by: java.lang.OutOfMemoryError: Java heap space
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""


def test_too_little_memory_is_told_with_what_to_do():
    told = str(translate(RuntimeError(OUT_OF_MEMORY), "s"))
    assert told == (
        "a Spark job failed: the JVM has too little memory; "
        "give it more (SPARK_DRIVER_MEMORY=4g; with a cluster, spark.executor.memory)"
    )
