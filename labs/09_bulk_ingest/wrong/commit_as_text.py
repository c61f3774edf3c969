# exercise: 1
# reason: bytes-as-text
def commit(folder, job_id, outputs):
    staging, done = folder / "staging", folder / "visible" / f"{job_id}.txt"
    if not done.exists():
        joined = folder / "joined"
        parts = ((staging / name).read_text(errors="replace") for name in outputs)
        joined.write_text("".join(parts))
        joined.rename(done)
    for path in staging.iterdir():
        path.unlink()
