"""A command that kills itself with -9 after some steps, while there is a file (or one in it).

    python -m tests.support.crash.dying_command SIGN STEPS WORD...

A step is a call of the operating system, or of a file that is open: nothing else changes what is on
the disk. If the command ends before, it says how many steps there were.
"""

import os
import signal
import sys
from types import FrameType

from kminilog.cli.main import main as kminilog


def main(sign: str, steps: str, *words: str) -> None:
    left = int(steps)

    def count(frame: FrameType, event: str, called: object) -> None:
        nonlocal left
        if event == "c_call" and is_step(called) and is_there(sign):
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.setprofile(count)
    try:
        kminilog(words)
    finally:
        sys.setprofile(None)
        print(int(steps) - left)


def is_step(called: object) -> bool:
    owner = getattr(called, "__self__", None)  # a module, or the object whose method it is
    return getattr(owner, "__name__", type(owner).__module__) in ("posix", "_io")


def is_there(sign: str) -> bool:
    try:
        return bool(os.listdir(sign))
    except NotADirectoryError:
        return True
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
