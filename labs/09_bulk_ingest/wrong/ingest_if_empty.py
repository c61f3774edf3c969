# exercise: 2
# reason: job-left-out
def ingest(rows, log_dir, job_id):
    written = rows.sparkSession.read.format("kminilog").option("topic", "orders").load(log_dir)
    if written.isEmpty():
        rows.write.format("kminilog").option("topic", "orders").mode("append").save(log_dir)
