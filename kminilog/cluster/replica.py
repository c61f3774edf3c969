"""One copy of a partition on one broker: its log, and how far it knows the log to be committed.

The leader's copy takes messages from producers. It gives them their offsets and stores them in the
topic's dialect, whatever layout the request had. A follower's copy takes messages from its leader.
Layout is a function of the messages and the settings, so the files of both copies are equal, byte
for byte (except for rolls by age). This module does not know which copy leads.

Source: Kafka: Replica, ReplicaFetcherThread. Differs: where a follower cuts its log when the leader
changes, see `replication`.
"""

import shutil

from kminilog.cluster.requests import decode_request
from kminilog.format.message import Message
from kminilog.settings import INT64_MAX
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.retention import (
    delete_oldest,
    segments_below,
    unlink_marked,
    without_delay_if_full,
)

FETCH_BYTES = 1 << 20


class Replica:
    """A partition's log on one broker and its high watermark: messages below that are committed.

    `agreed_epoch` is the leader's epoch in which this copy was found to agree with the leader's;
    None before that. `lost` are the offsets below `high_watermark` or `recovery_point`, as they are
    on record, that the log does not have. One object, one thread at a time.
    """

    def __init__(self, log: PartitionLog, high_watermark: int = 0, recovery_point: int = 0) -> None:
        self.log = log
        self.lost = range(log.log_end_offset, max(high_watermark, recovery_point))
        self.high_watermark = min(max(high_watermark, log.log_start_offset), log.log_end_offset)
        self.agreed_epoch: int | None = None

    def append_request(self, data: bytes, *, now_ms: int) -> range:
        """Append the messages of a produce request, all or none, and return their offsets.

        Raises what `decode_request` and PartitionLog.append raise; then nothing is written.
        """
        return self.log.append(decode_request(data), now_ms=now_ms)

    def append_copies(self, messages: list[Message], *, now_ms: int) -> None:
        """Append messages that the leader has, from where this log ends."""
        if messages:
            if messages[0].offset != self.log.log_end_offset:
                reason = f"offset {messages[0].offset}, expected {self.log.log_end_offset}"
                raise ValueError(f"{self.log.topic_partition}: {reason}")
            pairs = ((message.key, message.value) for message in messages)
            self.log.append(pairs, now_ms=now_ms)

    def fetch(self, offset: int, max_bytes: int = FETCH_BYTES) -> list[Message]:
        """Return messages from `offset` on, as PartitionReader.read does; O(1) at the log's end."""
        if offset == self.log.log_end_offset:
            return []
        return self.log.reader.read(offset, max_bytes)

    def first_difference(self, leader: "Replica") -> int:
        """Return the offset up to which this log agrees with the leader's.

        Compares offsets and bytes from this copy's high watermark on: messages below it were
        committed, so every leader has them. Messages past the leader's end differ, too.
        """
        common_end = min(self.log.log_end_offset, leader.log.log_end_offset)
        offset = min(max(self.high_watermark, leader.log.log_start_offset), common_end)
        while offset < common_end:
            pairs = zip(self.fetch(offset), leader.fetch(offset), strict=False)
            for own, other in pairs:
                if own != other:
                    return own.offset
                offset = own.offset + 1
        return offset

    def delete_oldest(self, count: int, now_ms: int, free_bytes: int = INT64_MAX) -> list[str]:
        """Delete the `count` oldest segments, as retention does. All their messages are committed.

        Also removes `.deleted` files whose delay is over, all if the disk is full; returns their
        paths.
        """
        delete_oldest(self.log, self.log.segments()[:count], now_ms)
        self.high_watermark = max(self.high_watermark, self.log.log_start_offset)
        settings = without_delay_if_full(self.log.settings, free_bytes)
        return [*map(str, unlink_marked(self.log.directory, settings, now_ms))]

    def take_log_start(self, offset: int, now_ms: int) -> None:
        """Delete what the leader has deleted: segments below its log start, as retention does.

        A log that ends below begins anew there.
        """
        if deleted := segments_below(self.log, offset):
            free_bytes = shutil.disk_usage(self.log.directory).free
            self.delete_oldest(len(deleted), now_ms, free_bytes)
        if self.log.log_end_offset < offset:
            self.log.begin_at(offset)
            self.high_watermark = offset
