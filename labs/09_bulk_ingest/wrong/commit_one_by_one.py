# exercise: 1
# reason: seen-in-parts
import shutil


def commit(folder, job_id, outputs):
    visible, staging = folder / "visible", folder / "staging"
    done = visible / f"{job_id}.txt"
    if not done.exists():
        part = visible / "part.txt"
        with part.open("wb") as whole:
            for name in outputs:
                shutil.copyfileobj((staging / name).open("rb"), whole)
        part.rename(done)
    for path in staging.iterdir():
        path.unlink()
