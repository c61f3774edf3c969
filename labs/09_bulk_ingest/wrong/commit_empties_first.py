# exercise: 1
# reason: staging-is-gone
def commit(folder, job_id, outputs):
    staging, done = folder / "staging", folder / "visible" / f"{job_id}.txt"
    if not done.exists():
        whole = b"".join((staging / name).read_bytes() for name in outputs)
        for path in staging.iterdir():
            path.unlink()
        joined = folder / "joined"
        joined.write_bytes(whole)
        joined.rename(done)
    for path in staging.iterdir():
        path.unlink()
