# exercise: 1
# reason: takes-each-attempt
def commit(folder, job_id, outputs):
    staging, done = folder / "staging", folder / "visible" / f"{job_id}.txt"
    if not done.exists():
        joined = folder / "joined"
        joined.write_bytes(b"".join(path.read_bytes() for path in sorted(staging.iterdir())))
        joined.rename(done)
    for path in staging.iterdir():
        path.unlink()
