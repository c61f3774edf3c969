# exercise: 1
# differs: copies in blocks to a hidden file beside the visible one, and replaces
import os
import shutil


def commit(folder, job_id, outputs):
    target = os.path.join(folder, "visible", job_id + ".txt")
    staged = os.path.join(folder, "staging")
    if not os.path.exists(target):
        with open(os.path.join(folder, "visible", ".part"), "wb") as part:
            for name in outputs:
                with open(os.path.join(staged, name), "rb") as one:
                    shutil.copyfileobj(one, part, 2)
            part.flush()
            os.fsync(part.fileno())
        os.replace(part.name, target)
    for name in os.listdir(staged):
        os.remove(os.path.join(staged, name))
