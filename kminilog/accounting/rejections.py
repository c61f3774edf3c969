"""Which records of a source are known to be rejected, and so are not missing.

    a job on record has read the file    those that the job's quarantine file names, no others
    no job has                           those that cannot be decoded

Only places are read from the quarantine files: 8 bytes for each rejected record. Source: ours.
"""

import os
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from kminilog.accounting.expected import recorded_paths
from kminilog.accounting.rows import Bits, Integers
from kminilog.source.description import Source
from kminilog.source.files import SourceFile, files_outside
from kminilog.source.places import Order
from kminilog.storage.publish.manifests import Manifest, quarantine_path
from kminilog.storage.regular_file import regular_status


@dataclass(frozen=True)
class Rejections:
    """Which records are rejected: by the number of their place, or by their file."""

    named: Integers
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
        ranks = {file.path: file.rank for file in files}
        found = array("q")
        for path in quarantined:
            found.extend(_numbers(path, ranks, order))
        return cls(np.unique(np.array(found, np.int64)), unrecorded)

    def known(self, ranks: Integers, numbers: Integers, is_undecodable: Bits) -> Bits:
        """Return which records are rejected, by the rank of their file and their number."""
        found = is_undecodable & np.isin(ranks, self.unrecorded) if is_undecodable.any() else None
        if not len(self.named):
            return np.zeros(len(ranks), np.bool_) if found is None else found
        named = np.isin(numbers, self.named)
        return named if found is None else found | named


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


def _numbers(path: Path, ranks: dict[str, int], order: Order) -> Iterator[int]:
    """Yield the places that a quarantine file names; a line that names none is passed over."""
    with open(os.fspath(path), "rb") as file:
        for line in file:
            with suppress(ValueError, KeyError, TypeError):
                record: dict[str, Any] = orjson.loads(line)
                within = record["position"] if order.by_position else record["row"] - 1
                yield ranks[record["file"]] << order.shift | int(within)
