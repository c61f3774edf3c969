"""The benches of the playground, by name: each module has its `BENCH`, imported when it is needed.

Source: ours.
"""

from importlib import import_module

from kminilog.course.benches.bench import Bench

BENCHES = {
    "murmur2": "kminilog.course.benches.key",
    "record": "kminilog.course.benches.message",
    "log": "kminilog.course.benches.log",
    "group": "kminilog.course.benches.group",
    "cluster": "kminilog.course.benches.cluster",
}


def bench_of(name: str) -> Bench:
    """Return a bench by its name in BENCHES; ValueError if there is none of this name."""
    if name not in BENCHES:
        raise ValueError(f"{name!r} is no bench; the benches: {', '.join(BENCHES)}")
    found: Bench = import_module(BENCHES[name]).BENCH
    return found
