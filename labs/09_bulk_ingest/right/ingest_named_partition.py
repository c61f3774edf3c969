# exercise: 2
# differs: the partition is a column, computed by murmur2 in a function of one's own
from pyspark.sql.functions import col, udf

from kminilog.partitioners.keyed import murmur2_partition


def ingest(rows, log_dir, job_id):
    place = udf(lambda key: murmur2_partition(key.encode(), 3), "int")
    placed = rows.withColumn("partition", place(col("key")))
    job = placed.write.format("kminilog").option("topic", "orders").option("job_id", job_id)
    job.mode("append").save(log_dir)
