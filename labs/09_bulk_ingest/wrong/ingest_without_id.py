# exercise: 2
# reason: duplicate
def ingest(rows, log_dir, job_id):
    rows.write.format("kminilog").option("topic", "orders").mode("append").save(log_dir)
