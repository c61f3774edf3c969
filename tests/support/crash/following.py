"""Reading a log of numbered messages from its start while somebody writes it."""

import contextlib
from collections.abc import Callable
from typing import NamedTuple

from kminilog.errors import OffsetOutOfRangeError
from kminilog.format.message import Message
from kminilog.storage.partition.reader import PartitionReader
from tests.support.crash.numbered_messages import numbered_message


class Followed(NamedTuple):
    """How many messages were read, how often retention was faster, how often there was no more yet
    in the middle of the log."""

    messages: int
    overtaken: int
    waited: int


def follow(
    reader: PartitionReader, end: int, max_bytes: int, on_waiting: Callable[[], object] = int
) -> Followed:
    """Read every message up to offset `end`, and assert that it is the right one. `on_waiting` is
    called when there is no more yet.

    Only where retention has deleted what comes next, the reader goes on where the log starts now.
    """
    offset = messages = overtaken = waited = 0
    while offset < end:
        batch = _read_or_log_start(reader, offset, max_bytes)
        if isinstance(batch, int):
            assert batch > offset
            offset, overtaken = batch, overtaken + 1
            continue
        if offset and not batch:
            waited += 1
            on_waiting()
        for message in batch:
            expected = (offset, *numbered_message(offset))
            assert (message.offset, message.key, message.value) == expected
            offset, messages = offset + 1, messages + 1
        with contextlib.suppress(OffsetOutOfRangeError):  # deleted since, or not written yet
            assert reader.find(offset // 2).message.value == numbered_message(offset // 2)[1]
            assert reader.log_end_offset >= offset
    return Followed(messages, overtaken, waited)


def _read_or_log_start(reader: PartitionReader, offset: int, max_bytes: int) -> list[Message] | int:
    try:
        return reader.read(offset, max_bytes)
    except OffsetOutOfRangeError as error:
        return error.log_start_offset
