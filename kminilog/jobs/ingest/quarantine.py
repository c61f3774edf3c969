"""Records that cannot be messages of their topic: why, and the file that keeps them.

    task     rejected-0.jsonl, rejected-1.jsonl ...    each in source order, with places
    driver   rejected.jsonl                            all of them merged, with files and lines
             <log dir>/.quarantine/<job id>.jsonl      there it goes when the job publishes

A record cannot be a message if it cannot be decoded, if its value is null and the dialect has no
place for that, or if it is too large. In the quarantine file of a job it is one JSON object with
`file`, `position`, `reason`, and `line` (text, json) or `row` (csv, parquet), counted from 1. It
has `key` and `value` too, or `key_base64` and `value_base64` where these are not UTF-8. For a
record that could not be decoded both are null. Merging holds one record of each part in memory.
Source: ours.
"""

import heapq
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import tee
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kminilog.errors import MessageTooLargeError
from kminilog.format.message import encoded_bytes
from kminilog.jobs.source.description import Place, Source, locations
from kminilog.jobs.source.places import PLACE_COLUMNS
from kminilog.jobs.source.source_files import SourceFile
from kminilog.json_fields import bytes_field, strict_json
from kminilog.settings import TopicSettings
from kminilog.storage.files import naming
from kminilog.storage.topics import Topic

# ---- why


def screen(records: pa.RecordBatch, topic: Topic) -> pa.RecordBatch:
    """Return the records with a reason in `rejected` for each one that the topic cannot store.

    All records stay, in their order. O(records).
    """
    key, value, rejected = (records.column(name) for name in ("key", "value", "rejected"))
    dialect = topic.dialect
    if value.null_count and not dialect.has_value_length:
        no_null = f"the value is null, and the {dialect.name} dialect has no null value"
        reasons = pc.if_else(value.is_null(), no_null, pa.scalar(None, pa.string()))
        rejected = pc.coalesce(rejected, reasons)
    sizes = np.full(len(records), encoded_bytes(dialect, None, None), np.int64)
    for column in (key, value):
        sizes += pc.fill_null(pc.binary_length(column), 0).to_numpy()
    if (sizes > topic.settings.largest_message_bytes).any():
        too_large = (_too_large(topic.settings, size) for size in sizes.tolist())
        rejected = pc.coalesce(rejected, pa.array(too_large, pa.string()))
    return records.set_column(records.schema.get_field_index("rejected"), "rejected", rejected)


def _too_large(settings: TopicSettings, size_bytes: int) -> str | None:
    try:
        settings.check_message(size_bytes)
    except MessageTooLargeError as error:
        return error.reason
    return None


# ---- where they are


Record = dict[str, Any]


@dataclass
class RejectedPart:
    """One file of rejected records in source order.

    `count` is how many there are; `first` and `reason` belong to the first of them.
    """

    path: str
    count: int
    first: Place
    reason: str


class RejectedWriter:
    """Writes the rejected records of one task. O(rejected records) in Python."""

    def __init__(self, attempt: Path, at_most: int) -> None:
        """Write to files in `attempt`. A part stores at most `at_most` + 1 records.

        The records after them are only counted, because the job will fail.
        """
        self._attempt = attempt
        self._at_most = at_most
        self._parts: list[RejectedPart] = []
        self._file: IO[str] | None = None
        self._last: Place | None = None

    def take_out(self, table: pa.Table) -> pa.Table:
        """Return the records that are not rejected, and write the others. Raises OSError."""
        reasons = table.column("rejected")
        if reasons.null_count == len(table):
            return table
        columns = [*PLACE_COLUMNS, "rejected", "key", "value"]
        for row in table.filter(pc.is_valid(reasons)).select(columns).to_pylist():
            place = Place(*map(row.get, PLACE_COLUMNS))
            if self._file is None or (self._last and place < self._last):
                self.close()
                path = self._attempt / f"rejected-{len(self._parts)}.jsonl"
                self._file = open(path, "x", encoding="ascii")  # noqa: SIM115 - `close` closes it
                self._parts.append(RejectedPart(str(path), 0, place, row["rejected"]))
            part, self._last = self._parts[-1], place
            part.count += 1
            if part.count <= self._at_most + 1:
                key, value = (_encoded(row[name]) for name in ("key", "value"))
                with naming(Path(part.path)):
                    self._file.write(json.dumps([place, row["rejected"], key, value]) + "\n")
        return table.filter(pc.is_null(reasons))

    def close(self) -> list[RejectedPart]:
        """Close the files and return their parts; none if nothing was rejected."""
        if self._file:
            with naming(Path(self._parts[-1].path)):
                self._file.close()
        return self._parts


def write_quarantine(
    path: Path, source: Source, files: Sequence[SourceFile], parts: Sequence[RejectedPart]
) -> None:
    """Write the quarantine file of a job to a path in staging; without `parts`, write nothing.

    Once it returns, the content of the file survives a power failure. Text and JSON files with
    rejected records are read up to the last of these, to count lines. Raises OSError and
    SourceError.
    """
    if not parts:
        return
    records, ahead = tee(heapq.merge(*map(_read_part, parts), key=itemgetter(0)))
    places = (place for place, _ in ahead)
    with naming(path), open(path, "w", encoding="utf-8") as file:
        for (place, told), found in zip(records, locations(source, files, places), strict=True):
            where = {"file": found.path, found.unit: found.number, "position": place.position}
            file.write(json.dumps(strict_json(where | told), ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _read_part(part: RejectedPart) -> Iterator[tuple[Place, Record]]:
    with open(part.path, encoding="ascii") as file:
        for line in file:
            place, reason, key, value = json.loads(line)
            yield (
                Place(*place),
                {
                    "reason": reason,
                    **bytes_field("key", _decoded(key)),
                    **bytes_field("value", _decoded(value)),
                },
            )


def _encoded(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _decoded(encoded: str | None) -> bytes | None:
    return None if encoded is None else b64decode(encoded)
