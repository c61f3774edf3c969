# exercise: 1
# reason: commits-twice
def commit(folder, job_id, outputs):
    staging, done = folder / "staging", folder / "visible" / f"{job_id}.txt"
    if not done.exists():
        part = folder / "part"
        for name in outputs:
            with part.open("ab") as whole:
                whole.write((staging / name).read_bytes())
        part.rename(done)
    for path in staging.iterdir():
        path.unlink()
