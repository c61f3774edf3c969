"""A command that kills itself with -9 after some steps, while there is a file (or one in it).

    python -m tests.support.crash.dying_command SIGN STEPS WORD...

A step is a call of a function that is written in C, as all are that change a file. If the command
ends before, it says how many steps there were.
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
        if event == "c_call" and is_there(sign):
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.setprofile(count)
    try:
        kminilog(words)
    finally:
        sys.setprofile(None)
        print(int(steps) - left)


def is_there(sign: str) -> bool:
    try:
        return bool(os.listdir(sign))
    except NotADirectoryError:
        return True
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
