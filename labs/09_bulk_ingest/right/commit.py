# exercise: 1
# differs: the course's own, because the library has no such function: one file, one rename
def commit(folder, job_id, outputs):
    """Let readers see the outputs of a job: at once, in this order, and only once.

    `outputs` are names of files in `folder/staging`. Readers see `folder/visible/JOB.txt`, for the
    id of the job, with the bytes of all of them. If that file is there already, it stays as it is.
    In the end staging has no files.
    """
    done = folder / "visible" / f"{job_id}.txt"
    staging = folder / "staging"
    if not done.exists():
        joined = staging / "joined"
        joined.write_bytes(b"".join((staging / name).read_bytes() for name in outputs))
        joined.rename(done)
    for path in staging.iterdir():
        path.unlink()
