# exercise: 2
# reason: key-order
def ingest(rows, log_dir, job_id):
    job = rows.repartition(8).write.format("kminilog").option("topic", "orders")
    job.option("job_id", job_id).mode("append").save(log_dir)
