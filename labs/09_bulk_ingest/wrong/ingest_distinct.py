# exercise: 2
# reason: missing
def ingest(rows, log_dir, job_id):
    job = rows.distinct().coalesce(1).write.format("kminilog").option("topic", "orders")
    job.option("job_id", job_id).mode("append").save(log_dir)
