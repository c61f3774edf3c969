"""Signals that come at a chosen moment: what the tests of Ctrl-C and SIGTERM share."""

import signal
from collections.abc import Callable
from typing import Any


def press_at_call(monkeypatch, owner: Any, name: str, last: int) -> list[object]:
    """Have the signal come in one call of a function, and return the first argument of each call.

    `owner` is a class or a module.
    """
    real, called = getattr(owner, name), []

    def function(first, *arguments, **options):
        called.append(first)
        if len(called) == last:
            signal.raise_signal(signal.SIGINT)
        return real(first, *arguments, **options)

    monkeypatch.setattr(owner, name, function)
    return called


def press_and_go_on(number: int, steps: list[int]) -> Callable[..., None]:
    """Return a function that gets a signal, and then makes 1,000 steps if nothing ends it."""

    def function(*_, **__):
        signal.raise_signal(number)
        for step in range(1000):
            steps.append(step)

    return function
