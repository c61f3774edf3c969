# exercise: 1
# reason: joins-by-name
def commit(folder, job_id, outputs):
    staging, done = folder / "staging", folder / "visible" / f"{job_id}.txt"
    if not done.exists():
        joined = folder / "joined"
        joined.write_bytes(b"".join((staging / name).read_bytes() for name in sorted(outputs)))
        joined.rename(done)
    for path in staging.iterdir():
        path.unlink()
