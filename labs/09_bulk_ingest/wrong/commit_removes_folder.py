# exercise: 1
# reason: staging-is-removed
import shutil


def commit(folder, job_id, outputs):
    staging, done = folder / "staging", folder / "visible" / f"{job_id}.txt"
    if not done.exists():
        joined = folder / "joined"
        joined.write_bytes(b"".join((staging / name).read_bytes() for name in outputs))
        joined.rename(done)
    shutil.rmtree(staging, ignore_errors=True)
