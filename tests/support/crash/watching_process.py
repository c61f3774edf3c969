"""A process that reads a log while jobs are published into it.

python -m tests.support.crash.watching_process LOG_DIR JOBS
"""

import sys
from pathlib import Path

from tests.support.crash.watching import watch


def main(log_dir: str, jobs: str) -> None:
    print("ready", flush=True)
    watch(Path(log_dir), int(jobs))


if __name__ == "__main__":
    main(*sys.argv[1:])
