# exercise: 1
# reason: marked-before-done
def commit(folder, job_id, outputs):
    staging, mark = folder / "staging", folder / f"{job_id}.done"
    done = folder / "visible" / f"{job_id}.txt"
    if not mark.exists() and not done.exists():
        mark.touch()
        joined = staging / "joined"
        joined.write_bytes(b"".join((staging / name).read_bytes() for name in outputs))
        joined.rename(done)
    for path in staging.iterdir():
        path.unlink()
