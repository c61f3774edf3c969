# exercise: 2
# reason: wrong-partition
from pyspark.sql.functions import expr


def ingest(rows, log_dir, job_id):
    placed = rows.withColumn("partition", expr("pmod(hash(key), 3)"))
    job = placed.write.format("kminilog").option("topic", "orders").option("job_id", job_id)
    job.mode("append").save(log_dir)
