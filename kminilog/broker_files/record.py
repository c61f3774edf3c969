"""A record of whatever format, and the two outcomes of reading one that are no record.

    Record          it is there
    CorruptRecord   its bytes are damaged: nothing helps
    NotChecked      nobody looked: a package is missing, or a limit was reached

So a damaged record and one that nobody could read are never taken for each other.
Source: Kafka: Record.
"""

from typing import NamedTuple

NO_TIMESTAMP = -1  # format v0 has none
NO_SEQUENCE = -1  # its producer is not idempotent


class Record(NamedTuple):
    """One record; `timestamp` is in milliseconds since 1970, a header's value may be null."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    sequence: int = NO_SEQUENCE


class CorruptRecord(NamedTuple):
    """Why no record is here, in Kafka's words; none after it in the same batch can be read.

    `position` is a byte of the batch's records, after decompression.
    """

    detail: str
    position: int = 0


class NotChecked(NamedTuple):
    """Why records were not read, although nothing is known to be wrong with them."""

    reason: str


RecordOutcome = Record | CorruptRecord | NotChecked
