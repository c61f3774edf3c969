"""Produce, Fetch and ListOffsets: messages in and out of the partitions that a broker leads.

A fetch of a `kafka` topic reads the `.log` as it is: no message is decoded. A `documented` topic
has no bytes that a client can read, so its messages are written anew in Kafka's layout.
Source: Kafka: KafkaApis, ReplicaManager.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from kminilog.cluster.requests import Produced
from kminilog.errors import KMiniLogError, OffsetOutOfRangeError
from kminilog.format.dialect import KAFKA
from kminilog.format.message import KeyValue, encode
from kminilog.format.names import TopicPartition
from kminilog.storage.files import open_regular
from kminilog.storage.partition.log import PartitionLog, append_encoded, encoded
from kminilog.storage.topics import Topic
from kminilog.wire.errors import Code, RefusedError, code_of, message_of
from kminilog.wire.producers import PRODUCERS_DIR, IdempotentProducers, KnownBatch
from kminilog.wire.quick_set import renumbered
from kminilog.wire.record_sets import check_count, decode_record_set
from kminilog.wire.schemas import Value, by_topic
from kminilog.wire.served import NODE_ID, Led, Served

LATEST, EARLIEST = -1, -2
MOST_FETCHED_BYTES = 16 << 20
"""Of one answer: a client that wants more asks again."""
MOST_UNREAD_BYTES = 32 << 20
"""Of answers that clients have not read yet: then answers have less, but never nothing."""
_LEAST_ROOM_BYTES = 1 << 16
_MOST_CONVERTED_BYTES = 1 << 20
_UNKNOWN = -1


class AppendedSet(NamedTuple):
    """Where messages of a request went: which offsets, the last of the segments, how many bytes."""

    partition: TopicPartition
    offsets: range
    segment: str
    size_bytes: int


class Unreplicated(NamedTuple):
    """Messages that in-sync replicas may still lack, and their part of the answer."""

    answer: Value
    partition: TopicPartition
    produced: Produced


class MessageRequests:
    """Answers the requests about messages. `topic_of` returns a topic, and may create it.

    `node` is the broker that is asked. `on_append` is told of each append. `dropped` counts what
    topics could not store. `unread_bytes` has whoever sends the answers.
    """

    def __init__(
        self,
        served: Served,
        topic_of: Callable[[str], Topic],
        now_ms: Callable[[], int],
        on_append: Callable[[AppendedSet], None],
    ) -> None:
        self._served = served
        self._topic_of = topic_of
        self._now_ms = now_ms
        self._on_append = on_append
        self._producers: dict[TopicPartition, tuple[int, IdempotentProducers]] = {}
        self.dropped: Counter[str] = Counter()
        self.unread_bytes = 0

    def close(self) -> None:
        """Close the files of the producers."""
        for _, each in self._producers.values():
            each.close()

    def forget(self, topic: Topic) -> None:
        """Drop what is known of the producers of a deleted topic."""
        for partition in topic.all_partitions():
            if partition in self._producers:
                self._producers.pop(partition)[1].close()
            self._producers_path(partition).unlink(missing_ok=True)

    # ---- produce

    def produce(
        self, request: Value, version: int, node: int = NODE_ID
    ) -> tuple[Value | None, list[Unreplicated]]:
        """Return the answer to Produce, and for which messages of acks -1 it has to wait.

        The answer is None for acks 0, which gets none.
        """
        acks = request["acks"]
        appended: list[Unreplicated] = []
        responses = by_topic(
            request["topic_data"],
            lambda name, each: self._produced(name, each, request, version, node, appended),
            partitions="partition_data",
            answers="partition_responses",
        )
        return {"responses": responses} if acks else None, appended if acks == -1 else []

    def _produced(
        self,
        name: str,
        data: Value,
        request: Value,
        version: int,
        node: int,
        appended: list[Unreplicated],
    ) -> Value:
        answer: Value = {
            "index": data["index"],
            "base_offset": _UNKNOWN,
            "log_append_time_ms": _UNKNOWN,
            "log_start_offset": _UNKNOWN,
        }
        try:
            if request["acks"] not in (-1, 0, 1):
                code = Code.INVALID_REQUIRED_ACKS if version else Code.REQUEST_TIMED_OUT
                raise RefusedError(code, f"acks {request['acks']}")
            if request.get("transactional_id") is not None:
                raise RefusedError(Code.INVALID_RECORD, "there are no transactions here")
            topic = self._topic_of(name)
            partition = topic.partition(data["index"])
            led = self._served.led(partition, node)
            if records := data["records"]:
                first = answer["base_offset"] = self._append(topic, led, records)
                produced = Produced(first, led.log.log_end_offset, node, led.epoch)
                appended.append(Unreplicated(answer, partition, produced))
            answer["log_start_offset"] = led.log.log_start_offset
        except (KMiniLogError, RefusedError, OSError) as error:
            answer |= {"error_code": code_of(error), "error_message": message_of(error)}
        return answer

    def _append(self, topic: Topic, led: Led, records: bytes) -> int:
        """Append messages, unless they are there already; return the offset of the first one."""
        log = led.log
        if topic.dialect is KAFKA and (quick := renumbered(records, log.log_end_offset)):
            check_count(len(quick))
            self._producers_of(topic, led, is_needed=False)  # they learn where the log ended before
            return self._written(log, lambda log: quick).start
        found = decode_record_set(records, drops_headers=bool(topic.settings.message_drop_headers))
        messages, sequence = found.messages, found.sequence
        producers = self._producers_of(topic, led, is_needed=sequence is not None)
        if sequence is None or producers is None:
            first = self._written(log, lambda log: encoded(log, messages)).start
        else:
            stored = producers.stored(sequence, len(messages))
            if stored and stored.records == len(messages):
                return stored.first_offset
            there = stored.records if stored else 0
            rest = KnownBatch(
                sequence._replace(first=sequence.after(there)),
                len(messages) - there,
                log.log_end_offset,
            )
            self._append_once(log, producers, rest, messages[there:])
            first = (stored or rest).first_offset
        self.dropped["timestamps"] += found.with_timestamp
        self.dropped["headers"] += found.with_headers
        return first

    def _append_once(
        self,
        log: PartitionLog,
        producers: IdempotentProducers,
        batch: KnownBatch,
        messages: list[KeyValue],
    ) -> None:
        log.check_is_open()
        producers.begin(batch)
        try:
            self._written(log, lambda log: encoded(log, messages))
        except BaseException:
            if not log.is_broken:  # else some of it may be there: the next start sees how much
                producers.take_back()
            raise
        producers.learn(batch)

    def _written(
        self, log: PartitionLog, bytes_for: Callable[[PartitionLog], list[bytes]]
    ) -> range:
        def write(log: PartitionLog) -> AppendedSet:
            data = bytes_for(log)
            offsets = append_encoded(log, data, now_ms=self._now_ms())
            segment = log.segments()[-1].name
            return AppendedSet(log.topic_partition, offsets, segment, sum(map(len, data)))

        appended = self._served.append(log.topic_partition, write)
        self._on_append(appended)
        return appended.offsets

    def _producers_of(
        self, topic: Topic, led: Led, *, is_needed: bool
    ) -> IdempotentProducers | None:
        """Return the idempotent producers of a partition, if there are any, or if they are needed.

        Before the first append in an epoch of the leader they learn what its log lacks.
        """
        partition, end = led.log.topic_partition, led.log.log_end_offset
        epoch, known = self._producers.get(partition, (led.epoch, None))
        if known and epoch == led.epoch:
            return known
        path = self._producers_path(partition)
        if known:
            del self._producers[partition]  # first: the file cannot be closed twice
            known.close()
        elif not is_needed and not path.exists():
            return None
        made = IdempotentProducers(path, topic.topic_id or "", end, is_later=led.epoch > 0)
        self._producers[partition] = led.epoch, made
        return made

    def _producers_path(self, partition: TopicPartition) -> Path:
        return self._served.path / PRODUCERS_DIR / str(partition)

    # ---- fetch

    def fetch(self, request: Value, version: int, node: int = NODE_ID) -> tuple[Value, int, bool]:
        """Return the answer to Fetch, how many bytes of messages it has, and if there is an error.

        Messages are cut at the limit of their partition, but the first one of the answer is whole
        from version 3 on.
        """
        left = min(MOST_UNREAD_BYTES - self.unread_bytes, MOST_FETCHED_BYTES)
        own_room = max(left, _LEAST_ROOM_BYTES)
        room = min(request.get("max_bytes", own_room), own_room)
        size_bytes, has_error = 0, False
        topics = []
        for topic in request["topics"]:
            answers = []
            for each in topic["partitions"]:
                limit = max(min(each["partition_max_bytes"], room - size_bytes), 0)
                is_first = version >= 3 and not size_bytes
                answer = self._fetched(topic["topic"], each, node, limit, is_first)
                size_bytes += len(answer.get("records", b""))
                has_error |= bool(answer.get("error_code"))
                answers.append(answer)
            topics.append({"topic": topic["topic"], "partitions": answers})
        return {"responses": topics}, size_bytes, has_error

    def _fetched(self, name: str, asked: Value, node: int, limit: int, is_first: bool) -> Value:
        index, offset = asked["partition"], asked["fetch_offset"]
        answer: Value = {"partition_index": index, "aborted_transactions": None}
        try:
            topic = self._topic_of(name)
            log, end, _ = self._served.led(topic.partition(index), node)
            start = log.log_start_offset
            if not start <= offset <= log.log_end_offset:
                raise OffsetOutOfRangeError(
                    str(log.topic_partition),
                    offset=offset,
                    log_start_offset=start,
                    log_end_offset=log.log_end_offset,
                )
            answer |= {"high_watermark": end, "last_stable_offset": end, "log_start_offset": start}
            if offset < end and (limit or is_first):
                answer["records"] = read_messages(log, offset, end, limit, has_one=is_first)
        except (KMiniLogError, RefusedError, OSError) as error:
            unknown = dict.fromkeys(
                ("high_watermark", "last_stable_offset", "log_start_offset"), _UNKNOWN
            )
            answer |= {"error_code": code_of(error), **unknown}
        return answer

    # ---- offsets

    def list_offsets(self, request: Value, version: int, node: int) -> Value:
        """Answer ListOffsets: the end, the start; by time there is nothing to find here."""
        listed = by_topic(
            request["topics"], lambda name, each: self._listed(name, each, version, node)
        )
        return {"topics": listed}

    def _listed(self, name: str, asked: Value, version: int, node: int) -> Value:
        answer: Value = {"partition_index": asked["partition_index"], "timestamp": -1, "offset": -1}
        try:
            partition = self._topic_of(name).partition(asked["partition_index"])
            led = self._served.led(partition, node)
            if version == 0:
                most = max(asked["max_num_offsets"], 0)
                answer["old_style_offsets"] = [*_offsets_before(led, asked["timestamp"])][:most]
            elif asked["timestamp"] == LATEST:
                answer["offset"] = led.end
            elif asked["timestamp"] == EARLIEST:
                answer["offset"] = led.log.log_start_offset
            else:
                reason = "no message has a timestamp here"
                raise RefusedError(Code.UNSUPPORTED_FOR_MESSAGE_FORMAT, reason)
        except (KMiniLogError, RefusedError, OSError) as error:
            answer["error_code"] = code_of(error)
        return answer


def _offsets_before(led: Led, timestamp: int) -> Iterator[int]:
    """Yield the first offsets of segments last written before a time, the newest first."""
    if timestamp == EARLIEST:
        yield led.log.log_start_offset
        return
    if timestamp == LATEST:
        yield led.end
    for segment in reversed(led.log.segments()):
        if timestamp == LATEST or segment.log_path.stat().st_mtime * 1000 <= timestamp:
            yield segment.first_offset


def read_messages(log: PartitionLog, offset: int, end: int, limit: int, *, has_one: bool) -> bytes:
    """Return messages from an offset on as a client reads them, none from `end` on.

    They are cut at `limit` bytes. With `has_one` the first of them is whole, whatever its size.
    They are all of one segment, as in Kafka. O(bytes), and the search. Raises as
    `PartitionReader.find`.
    """
    if log.dialect is not KAFKA:
        messages = log.reader.read(offset, max(min(limit, _MOST_CONVERTED_BYTES), 1))
        converted = [encode(KAFKA, m.offset, m.key, m.value) for m in messages if m.offset < end]
        limit = max(limit, *map(len, converted[:1]), 0) if has_one else limit
        return b"".join(converted)[:limit]
    found = log.reader.find(offset)
    limit = max(limit, found.message.length_bytes) if has_one else limit
    if end < log.log_end_offset:
        last = log.reader.find(end)
        if last.segment == found.segment:
            limit = min(limit, last.position - found.position)
    descriptor = open_regular(found.segment.log_path)
    try:
        return os.pread(descriptor, limit, found.position)
    finally:
        os.close(descriptor)
