"""Checks of lab 9: a Spark job that fills a topic. What it has written is judged by `verify`."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from itertools import starmap
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from kminilog.course.comparing import Comparer
from kminilog.course.judging.checking import LOG_DIR
from kminilog.format.hashing import murmur2
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.partitioners.keyed import murmur2_partition

_PARTITIONS = 3


def first_win(name: str) -> list[str]:
    """Return the partitions of keys that begin with the name."""
    keys = [f"{name}-{number}" for number in range(4)]
    return [f"{key}  partition {murmur2_partition(key.encode(), _PARTITIONS)}" for key in keys]


# ---- 9.1

_FORMULAS: tuple[tuple[str, Callable[[bytes, int], int]], ...] = (
    ("partition-abs", lambda key, count: abs(murmur2(key)) % count),
    ("partition-unsigned", lambda key, count: (murmur2(key) & 0xFFFF_FFFF) % count),
    ("partition-signed-mod", lambda key, count: murmur2(key) % count),
    ("partition-crc32", lambda key, count: crc32(key) % count),
    ("builtin-hash", lambda key, count: hash(key) % count),
    ("empty-as-null", lambda key, count: murmur2_partition(key, count) if key else 0),
    ("bytes-stripped", lambda key, count: murmur2_partition(key.strip(), count)),
    ("bytes-as-text", lambda key, count: murmur2_partition(_through_text(key), count)),
)


def _through_text(key: bytes) -> bytes:
    return key.decode("utf-8", "replace").encode()


def precondition_1(key: bytes, partitions: int) -> bool:
    return partitions >= 1


def exercise_1(compare: Comparer, partition_of: Callable[[bytes, int], int]) -> None:
    long = [b"k07" * count for count in range(2, 20)]
    odd = [b" k07\n", b"\tk08", b"k09\0 ", b" "]
    keys = [b"", b"\xff\xfe", *odd, *long, *(b"k%d" % number for number in range(9_976))]
    cases = [(key, (_PARTITIONS, 7, 50)[number % 3]) for number, key in enumerate(keys, start=1)]
    cases += [(key, count) for key in long for count in (1, _PARTITIONS, 1_000_003)]
    calls = [
        (f"murmur2_partition({key!r}, {count})", partial(partition_of, key, count), right)
        for key, count in cases
        for right in [murmur2_partition(key, count)]
    ]
    compare.all_equal(calls, [(code, list(starmap(rule, cases))) for code, rule in _FORMULAS])


# ---- 9.3

_JOBS = ("monday", "tuesday", "wednesday")


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a log dir that three jobs have filled; the seed says how much each has written."""
    log_dir, lines = folder / LOG_DIR, folder / "lines.txt"
    shutil.rmtree(log_dir, ignore_errors=True)
    chance = Random(seed)
    for job in _JOBS:
        count = 100 + chance.randrange(100)
        text = "".join(f"k{chance.randrange(50)}:{name[:20]} {n}\n" for n in range(count))
        lines.write_text(text)
        source = Source((str(lines),), key_regex="^([^:]*):")
        ingest_with(LocalIngest(), log_dir, source, topic="orders", partitions=3, job_id=job)
    lines.unlink()


def solve_3(folder: Path) -> dict[str, Any]:
    path = folder / "files" / LOG_DIR / ".manifests" / f"{_JOBS[1]}.json"
    manifest = json.loads(path.read_text())
    (part,) = [each for each in manifest["partitions"] if each["partition"] == 1]
    count = part["next_offset"] - part["first_offset"]
    return {"FIRST": part["first_offset"], "COUNT": count, "SUM": part["fingerprints"][0][2]}


def exercise_3(compare: Comparer, constants: dict[str, Any], folder: Path) -> None:
    right = solve_3(folder)
    first, count = right["FIRST"], right["COUNT"]
    wrong = {
        "FIRST": {"next-not-first": first + count},
        "COUNT": {"next-not-count": first + count},
        "SUM": {},
    }
    for name, expected in right.items():
        compare.equal(name, partial(constants.get, name), expected, wrong[name])
