"""Directories that cannot be listed, for several causes. Imports nothing of kminilog."""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_CAPABILITY_VERSION = 0x20080522  # Linux, capget(2)
_PAST_MODES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def put_file(path: Path) -> None:
    path.write_bytes(b"")


def put_loop(path: Path) -> None:
    path.symlink_to(path)


def forbid(path: Path) -> None:
    path.mkdir(mode=0)


CAUSES: dict[str, Callable[[Path], None]] = {
    "a file": put_file,
    "a loop of links": put_loop,
    "forbidden": forbid,
}


@contextmanager
def without_privileges() -> Iterator[None]:
    """Modes of files do not bind root; here they do, as they bind any owner.

    Nobody becomes another user: that one might not be allowed to enter this checkout.
    """
    if os.geteuid():
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    capabilities = (ctypes.c_uint32 * 6)()  # the first word: those in effect
    assert libc.capget(header, capabilities) == 0
    before = capabilities[0]
    capabilities[0] &= ~_PAST_MODES
    assert libc.capset(header, capabilities) == 0
    try:
        yield
    finally:
        capabilities[0] = before
        assert libc.capset(header, capabilities) == 0
