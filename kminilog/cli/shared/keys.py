"""Keys of a terminal, one at a time, without echo; a Ctrl-C ends the command while it waits.

An arrow key sends several bytes, which begin with Escape; they are one key. The terminal is put
back at the end, if it is still there. Source: ours.
"""

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from kminilog.cli.shared.interrupts import interruptible_wait
from kminilog.errors import KMiniLogError

_ESCAPE = "\x1b"
_REST_SECONDS = 0.05  # the bytes after an Escape come at once; a pressed Escape comes alone


@contextmanager
def keys_of_terminal() -> Iterator[Callable[[], str]]:
    """Yield a function that waits for a key and returns what it sends. stdin is a terminal."""
    import termios  # not every operating system has them
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor, termios.TCSADRAIN)
    try:
        yield lambda: _read_key(descriptor)
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _read_key(descriptor: int) -> str:
    with interruptible_wait():
        key = _read(descriptor)
    while key.startswith(_ESCAPE) and select.select([descriptor], [], [], _REST_SECONDS)[0]:
        key += _read(descriptor)
        if (key[-1].isalpha() and key[-1] != "O") or key.endswith("~"):
            break
    return key


def _read(descriptor: int) -> str:
    data = b""
    with suppress(OSError):  # as at the end of the input
        data = os.read(descriptor, 1)
    if not data:
        raise KMiniLogError("the terminal is gone")
    return data.decode("latin-1")
