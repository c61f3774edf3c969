# exercise: 2
# differs: the data source; the job id makes the second run safe
def ingest(rows, log_dir, job_id):
    job = rows.write.format("kminilog").option("topic", "orders").option("job_id", job_id)
    job.mode("append").save(log_dir)
