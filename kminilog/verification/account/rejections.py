"""Which records of a source are known to be rejected, and so are not missing.

    a job on record has read the file    those that the job's quarantine file holds, no others
    no job has                           those that cannot be decoded

A record counts as rejected only if the file still has, in the same place, what was rejected: the
same key and value, or again a record that cannot be decoded. A record that was corrected since is
one of the source, and is missing if it is not in the log. Of a quarantine file, 24 bytes for each
record are kept. Source: ours.
"""

import os
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec.json import decode

from kminilog.columns.digests import Digests, Words, digests
from kminilog.columns.mixing import mixed
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.places import Order
from kminilog.jobs.source.source_files import SourceFile, files_outside
from kminilog.json_fields import file_names
from kminilog.storage.files import regular_status
from kminilog.storage.manifests import Manifest, quarantine_path
from kminilog.verification.account.expected import recorded_paths
from kminilog.verification.account.rows import Bits, Integers

_LINES = 4096

DigestsOf = Callable[[Bits], Digests]


class Quarantined(NamedTuple):
    """Records of quarantine files: their numbers, and these mixed with both halves of the digest.

    `undecodable` are the numbers of those that have neither key nor value.
    """

    numbers: Integers
    low: Words
    high: Words
    undecodable: Integers


@dataclass(frozen=True)
class Rejections:
    """Which records are rejected: by their place and content, or by their file."""

    quarantined: Quarantined
    unrecorded: Integers

    @classmethod
    def of(
        cls,
        source: Source,
        files: Sequence[SourceFile],
        jobs: Sequence[Manifest],
        quarantined: Sequence[Path],
        order: Order,
    ) -> "Rejections":
        """Return what is known: `jobs` are on record for the topic, with these quarantine files.

        O(rejected records). Raises OSError.
        """
        arguments = [path for job in jobs for path in recorded_paths(job)]
        unrecorded = np.array([f.rank for f in files_outside(files, arguments)], np.int64)
        ranks = {os.path.realpath(file.path): file.rank for file in files}
        return cls(_joined([_read(path, ranks, order) for path in quarantined]), unrecorded)

    def known(
        self, ranks: Integers, numbers: Integers, is_undecodable: Bits, digests_of: DigestsOf
    ) -> Bits:
        """Return which records are rejected, by the rank of their file and their number.

        `digests_of` some rows is asked only for those whose places are in a quarantine file.
        """
        found = np.zeros(len(ranks), np.bool_)
        if is_undecodable.any():
            found = is_undecodable & np.isin(ranks, self.unrecorded)
            found |= is_undecodable & np.isin(numbers, self.quarantined.undecodable)
        if len(self.quarantined.numbers):
            named = np.isin(numbers, self.quarantined.numbers) & ~is_undecodable
            if named.any():
                mixed_low, mixed_high = _at_places(numbers[named], digests_of(named))
                is_same = np.isin(mixed_low, self.quarantined.low)
                found[named] = is_same & np.isin(mixed_high, self.quarantined.high)
        return found


def quarantine_files(log_dir: Path, jobs: Sequence[Manifest]) -> list[Path]:
    """Return the quarantine files of these jobs; a job that rejected nothing has none.

    Raises NotARegularFileError for a file that cannot be read to an end.
    """
    found = []
    for job in jobs:
        path = quarantine_path(log_dir, job.job_id).absolute()
        with suppress(FileNotFoundError):
            regular_status(path)
            found.append(path)
    return found


def _at_places(numbers: Integers, found: Digests) -> tuple[Words, Words]:
    """Return both halves of digests, mixed with the numbers of their places."""
    places = mixed(numbers.astype(np.uint64))
    return mixed(found.low ^ places), mixed(found.high ^ ~places)


def _joined(parts: Sequence[Quarantined]) -> Quarantined:
    kinds = (np.int64, np.uint64, np.uint64, np.int64)
    columns: list[Any] = [
        np.unique(np.concatenate([np.empty(0, kind), *(part[slot] for part in parts)]))
        for slot, kind in enumerate(kinds)
    ]
    return Quarantined(*columns)


def _read(path: Path, ranks: Mapping[str, int], order: Order) -> Quarantined:
    """Return what a quarantine file holds of some files, `ranks`, by their real paths."""
    parts = []
    with open(os.fspath(path), "rb") as file:
        while lines := [*islice(file, _LINES)]:
            records = [one for line in lines if (one := _record(line, ranks, order))]
            numbers = np.array([number for number, *_ in records], np.int64)
            keys, values = (
                pa.array([record[side] for record in records], pa.binary()) for side in (1, 2)
            )
            nothing = [number for number, key, value in records if key is value is None]
            at_places = _at_places(numbers, digests(keys, values))
            parts.append(Quarantined(numbers, *at_places, np.array(nothing, np.int64)))
    return _joined(parts)


def _record(
    line: bytes, ranks: Mapping[str, int], order: Order
) -> tuple[int, bytes | None, bytes | None] | None:
    """Return number, key and value of a quarantined record; None for a line that has no place."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        record: dict[str, Any] = decode(line)
        within = record["position"] if order.by_position else record["row"] - 1
        number = ranks[_real_path(file_names(record)["file"])] << order.shift | int(within)
        return number, _bytes_of(record, "key"), _bytes_of(record, "value")
    return None


_real_path = lru_cache(os.path.realpath)


def _bytes_of(record: Mapping[str, Any], name: str) -> bytes | None:
    encoded = record.get(f"{name}_base64")
    if encoded is not None:
        return b64decode(encoded)
    text = record.get(name)
    return None if text is None else str(text).encode()
