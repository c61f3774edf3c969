# exercise: 2
# reason: duplicate
import os


def ingest(rows, log_dir, job_id):
    job = rows.write.format("kminilog").option("topic", "orders")
    job.option("job_id", f"{job_id}-{os.getpid()}").mode("append").save(log_dir)
