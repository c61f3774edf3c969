"""Ctrl-C and SIGTERM: noted at once, and obeyed where a command can end without harm.

Python raises KeyboardInterrupt between any two steps: even when a batch is in the log and the
producer does not know it yet. So the handler only notes the signal. The commands raise it later,

    check_interrupt, interruptible, interruptible_call    at the safe points between pieces of work
    interruptible_wait, interruptible_anywhere            at once: nothing is left half written

and the exit code is 128 + the signal. A second signal ends the process at once, as if killed; log
dirs survive that. A signal that was ignored when the process started stays ignored; shells do this
for background processes. Source: ours.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import ParamSpec, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SAME_SECONDS = 0.1
"""So soon again, a signal is the same one: `timeout` sends it to a process and to its group."""
_SHOW_CURSOR = b"\x1b[?25h"


class _Noted:
    """The signal that was noted; signals belong to a process, so there is one object."""

    number = 0
    at_seconds = 0.0
    is_waiting = False


_noted = _Noted()


@contextmanager
def interrupts_heard() -> Iterator[None]:
    """Note signals until the end of the block, in the main thread, which alone gets them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with handlers_kept():
        _noted.number, _noted.is_waiting = 0, False
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _on_signal)
        try:
            yield
        finally:
            _noted.is_waiting = False


@contextmanager
def handlers_kept() -> Iterator[None]:
    """Restore the handlers of signals at the end of the block: a library may take them in it."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)


def is_interrupted() -> bool:
    """Tell if the command was asked to end."""
    return bool(_noted.number)


def interrupted_exit_code() -> int:
    """Return the exit code of an interrupted command; 130 for Ctrl-C."""
    return 128 + (_noted.number or signal.SIGINT)


def check_interrupt() -> None:
    """Raise KeyboardInterrupt if the command was asked to end: this is a safe point."""
    if _noted.number:
        raise KeyboardInterrupt


def interruptible(items: Iterable[Item]) -> Iterator[Item]:
    """Yield some items, with a safe point before each; where it ends, a generator is closed."""
    iterator = iter(items)
    try:
        for item in iterator:
            check_interrupt()
            yield item
    finally:
        if isinstance(iterator, Generator):
            iterator.close()


def interruptible_call(work: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return the same function with a safe point before each call."""

    def checks(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        check_interrupt()
        return work(*arguments, **options)

    return checks


def interruptible_anywhere(work: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return the same function; a signal ends a call at once. For work that leaves no files."""

    def ends(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        with interruptible_wait():
            return work(*arguments, **options)

    return ends


@contextmanager
def interruptible_wait() -> Iterator[None]:
    """A block in which the command only waits: a signal is raised at once, an earlier one, too."""
    _noted.is_waiting = True  # first: what comes after the question is raised
    try:
        check_interrupt()
        yield
    finally:
        _noted.is_waiting = False


def _on_signal(number: int, frame: FrameType | None) -> None:
    now_seconds = time.monotonic()
    if not _noted.number:
        _noted.number, _noted.at_seconds = number, now_seconds
        if _noted.is_waiting:
            raise KeyboardInterrupt
    elif now_seconds - _noted.at_seconds > SAME_SECONDS:
        with suppress(OSError):  # there is no terminal
            os.write(os.open("/dev/tty", os.O_WRONLY), _SHOW_CURSOR)  # a moving line has hidden it
        os._exit(128 + number)
