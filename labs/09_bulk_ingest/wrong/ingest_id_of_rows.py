# exercise: 2
# reason: job-left-out
def ingest(rows, log_dir, job_id):
    first = rows.first()
    job = rows.write.format("kminilog").option("topic", "orders")
    job.option("job_id", f"from-{first.value[1:].split()[-1]}").mode("append").save(log_dir)
