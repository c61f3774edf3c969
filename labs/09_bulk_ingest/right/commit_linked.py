# exercise: 1
# differs: a link fails if the job is there: so nobody has to look first
import contextlib
import shutil
import tempfile
from pathlib import Path


def commit(folder, job_id, outputs):
    staging = Path(folder, "staging")
    named = [staging / name for name in outputs]
    if all(path.is_file() for path in named):
        with tempfile.NamedTemporaryFile("wb", dir=folder, suffix=".tmp") as whole:
            for path in named:
                whole.write(path.read_bytes())
            whole.flush()
            with contextlib.suppress(FileExistsError):
                Path(folder, "visible", f"{job_id}.txt").hardlink_to(whole.name)
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(exist_ok=True)
