# exercise: 1
# reason: seen-in-parts
def commit(folder, job_id, outputs):
    staging, done = folder / "staging", folder / "visible" / f"{job_id}.txt"
    if not done.exists():
        with done.open("wb") as file:
            for name in outputs:
                file.write((staging / name).read_bytes())
    for path in staging.iterdir():
        path.unlink()
