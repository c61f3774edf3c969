"""Runs a command of kminilog with some of its functions replaced by ones that count.

    python -m tests.support.count_calls format.hashing.murmur2,format.hashing.to_positive \\
        partition --key 21 --partitions 3

The last line on stderr says how often each was called. A function is replaced as soon as its module
is loaded: whoever imports it, by `from ... import` too, gets the one that counts.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial, wraps
from importlib import import_module
from typing import Any

from kminilog.course.judging.patching import replace_when_loaded

CALLS: Counter[str] = Counter()
PATCHING = {
    "kminilog",
    "kminilog.course",
    "kminilog.course.judging",
    "kminilog.course.judging.patching",
}


def counting(seam: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def counted(*arguments: Any, **named: Any) -> Any:
        CALLS[seam] += 1
        return function(*arguments, **named)

    return counted


def main(seams: str, *command: str) -> None:
    assert {name for name in sys.modules if name.startswith("kminilog")} <= PATCHING
    replace_when_loaded({seam: partial(counting, seam) for seam in seams.split(",")})
    try:
        import_module("kminilog.cli.main").main(command)
    finally:
        print(json.dumps(CALLS), file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
