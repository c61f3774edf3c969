"""Runs a command of kminilog with some of its functions replaced by ones that count.

    python -m tests.count_calls format.hashing.murmur2,format.hashing.to_positive \\
        partition --key 21 --partitions 3

The last line on stderr says how often each was called. A function is replaced as soon as its module
is loaded: whoever imports it, by `from ... import` too, gets the one that counts.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

CALLS: Counter[str] = Counter()


def counting(seam: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def counted(*arguments: Any, **named: Any) -> Any:
        CALLS[seam] += 1
        return function(*arguments, **named)

    return counted


def replace(module: ModuleType, seam: str) -> None:
    """Put a function that counts in the place of `room.function` or `room.Class.method`."""
    owner: Any = module
    *classes, name = seam.removeprefix(module.__name__.removeprefix("kminilog.") + ".").split(".")
    for class_name in classes:
        owner = getattr(owner, class_name)
    found = vars(owner)[name]
    if isinstance(found, staticmethod | classmethod):
        setattr(owner, name, type(found)(counting(seam, found.__func__)))
    else:
        setattr(owner, name, counting(seam, found))


def room_of(seam: str) -> str:
    """Return the module of a function, or of a method: the part before the first capital letter."""
    return ".".join(part for part in seam.split(".")[:-1] if not part[0].isupper())


def replace_when_loaded(seams: list[str]) -> None:
    execute = SourceFileLoader.exec_module

    def execute_and_replace(loader: SourceFileLoader, module: ModuleType) -> None:
        execute(loader, module)
        for seam in seams:
            if module.__name__ == f"kminilog.{room_of(seam)}":
                replace(module, seam)

    SourceFileLoader.exec_module = execute_and_replace  # type: ignore[method-assign]


def main(seams: str, *command: str) -> None:
    assert not any(name.startswith("kminilog") for name in sys.modules)
    replace_when_loaded(seams.split(","))
    try:
        import_module("kminilog.cli.main").main(command)
    finally:
        print(json.dumps(CALLS), file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
