# exercise: 1
# reason: commits-twice
def commit(folder, job_id, outputs):
    staging = folder / "staging"
    if all((staging / name).exists() for name in outputs):
        joined = folder / "joined"
        joined.write_bytes(b"".join((staging / name).read_bytes() for name in outputs))
        joined.rename(folder / "visible" / f"{job_id}.txt")
    for path in staging.iterdir():
        path.unlink()
