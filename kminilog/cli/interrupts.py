"""Ctrl-C and SIGTERM: noted at once, and obeyed where a command can end without harm.

Python raises KeyboardInterrupt between any two steps: even when a batch is in the log and the
producer does not know it yet, or in a finaliser, where the exception is lost. So the handler only
notes the signal. The commands raise it later, again and again until the command has ended,

    check_interrupt, interruptible, interruptible_call    at the safe points between pieces of work
    interruptible_wait, interruptible_anywhere            at once: nothing is left half written

and the exit code is 128 + the signal. A wait for threads is cut into short ones, with safe
points: an exception that is raised in it could leave a lock of Python's taken for ever. What is
raised at once may still come in a finaliser. Python tells `sys.unraisablehook` what is lost there,
and so it is raised again. A signal that comes just before a call that blocks, such as a read, does
not end that call: a thread wakes it. A second signal ends the process at once, as if killed; log
dirs survive that. A signal that was ignored when the process started stays ignored; shells do this
for background processes. Source: ours.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import NoReturn, ParamSpec, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
UnraisableHook = Callable[["sys.UnraisableHookArgs"], object]

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SAME_SECONDS = 0.1
"""So soon again, a signal is the same one: `timeout` sends it to a process and to its group."""
_AGAIN_SECONDS = 0.01
_WAKING = signal.SIGURG  # does nothing if there is no handler
_WAKE_SECONDS = 0.02
_MOST_WAKES = 100
_SHOW_CURSOR = b"\x1b[?25h"


class _Noted:
    """The signal that was noted; signals belong to a process, so there is one object."""

    number = 0
    at_seconds = 0.0
    is_waiting = False
    is_swallowed = False
    again: threading.Timer | None = None
    ignored: tuple[signal.Signals, ...] = ()
    terminal: int | None = None  # file descriptor of the one whose cursor is hidden


_noted = _Noted()


@contextmanager
def interrupts_heard(*, is_process_ending: bool = False) -> Iterator[None]:
    """Note signals, in the main thread, until the end of the block; then restore the handlers.

    If the process ends with the block, a later Ctrl-C ends it without a message.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    _noted.number, _noted.is_waiting, _noted.is_swallowed = 0, False, False
    _noted.ignored = tuple(n for n in SIGNALS if before[n] is signal.SIG_IGN)
    for number in SIGNALS:
        take_signal(number)
    hook = sys.unraisablehook
    sys.unraisablehook = partial(_on_swallowed, hook)
    try:
        with _waiting_woken():
            yield
    finally:
        _noted.is_waiting = False
        sys.unraisablehook = hook
        if _noted.again:  # else its signal could come when nobody takes it any more
            _noted.again.cancel()
            _noted.again.join()
            _noted.again = None
        for number, handler in before.items():
            if handler is signal.default_int_handler and is_process_ending:
                handler = signal.SIG_DFL
            signal.signal(number, handler)
        # If KeyboardInterrupt has passed through an `exec`, as of an import, `python -m` ends
        # itself by SIGINT whatever its exit code is. Another `exec` makes Python forget.
        exec("")


def take_signal(number: signal.Signals) -> None:
    """Handle this signal again, if a library has changed its handler; an ignored one stays ignored.

    Does nothing in any thread but the main one, which alone gets signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    signal.signal(number, signal.SIG_IGN if number in _noted.ignored else _on_signal)


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


class interruptible_wait:  # noqa: N801 - used like a function
    """A block in which the command only waits: a signal is raised at once, an earlier one, too."""

    def __enter__(self) -> None:
        _noted.is_waiting = True  # first: what comes after the question is raised
        if _noted.number:
            _noted.is_waiting = False
            raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        _noted.is_waiting = False


@contextmanager
def cursor_hidden(terminal: int) -> Iterator[None]:
    """A block in which the cursor of a terminal is hidden: a second signal shows it again."""
    before, _noted.terminal = _noted.terminal, terminal
    try:
        yield
    finally:
        _noted.terminal = before


def _on_signal(number: int, frame: FrameType | None) -> None:
    now_seconds = time.monotonic()
    if _noted.number and not _noted.is_swallowed:
        if now_seconds - _noted.at_seconds > SAME_SECONDS:
            _end_at_once(number)
        return
    if not _noted.is_swallowed:
        _noted.number, _noted.at_seconds = number, now_seconds
    _noted.is_swallowed = False
    if _noted.is_waiting:
        _noted.is_waiting = False
        raise KeyboardInterrupt


def _on_swallowed(hook: UnraisableHook, swallowed: "sys.UnraisableHookArgs") -> None:
    """Have an interrupt that a finaliser has got raised again; `hook` is told of all else."""
    if not isinstance(swallowed.exc_value, KeyboardInterrupt):
        hook(swallowed)
        return
    _noted.number = _noted.number or signal.SIGINT  # a library has taken Ctrl-C from us
    _noted.is_waiting = _noted.is_swallowed = True
    again = threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), _noted.number))
    again.daemon = True
    again.start()  # this still is the finaliser
    _noted.again = again


@contextmanager
def _waiting_woken() -> Iterator[None]:
    """Have a thread wake the main thread from a call that blocks, if a signal has not.

    Python notes a signal when it comes and calls the handler between two steps of the main thread.
    A call that begins to block in that moment would go on for ever. Another signal wakes it: one
    that does nothing else.
    """
    listening, telling = os.pipe()
    os.set_blocking(telling, False)
    is_over = threading.Event()
    waker = threading.Thread(target=_wake, args=(listening, is_over), daemon=True)
    with suppress(RuntimeError):  # there is no thread for it: then a second Ctrl-C wakes
        waker.start()
    told_before = signal.set_wakeup_fd(telling, warn_on_full_buffer=False)
    handler_before = signal.signal(_WAKING, lambda number, frame: None)
    try:
        yield
    finally:
        signal.set_wakeup_fd(told_before)
        signal.signal(_WAKING, handler_before)
        is_over.set()
        with suppress(BlockingIOError):
            os.write(telling, bytes(1))  # the thread may wait for it
        if waker.ident is not None:
            waker.join()
        os.close(telling)
        os.close(listening)


def _wake(listening: int, is_over: threading.Event) -> None:
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    while not is_over.is_set():
        (number,) = os.read(listening, 1)
        if number not in SIGNALS:
            continue
        for _ in range(_MOST_WAKES):  # a process that was forked tells of its signals here, too
            if is_over.wait(_WAKE_SECONDS) or _noted.number:
                break
            signal.pthread_kill(main_thread, _WAKING)


def _end_at_once(number: int) -> NoReturn:
    if _noted.terminal is not None:
        os.write(_noted.terminal, _SHOW_CURSOR)
    os._exit(128 + number)
