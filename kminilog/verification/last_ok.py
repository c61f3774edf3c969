"""What the last `ok` has seen of each partition: the record, and how much of it still counts.

    .verified/<topic>.json    for each partition: up to which offset, when, a digest, its segments

`--since-last` trusts the first segments that are as the record says, and checks all others. If it
ends with `ok`, it writes the record; the first time it checks all. What is cheap is compared: the
id of the topic, the rules by which it was judged, the names of segments, the sizes of both files of
each and when they were changed. The last segment may have grown: then what came after the recorded
bytes is read. So it has a digest, of the last bytes of its log in front of the recorded end and of
its index. If that differs, nothing of the partition is trusted. Segments that are gone from the
beginning are no difference: retention deletes there, and log starts tell a loss.

Bytes that change under all this, as on a disk that fails, are not seen. In the record itself they
are: it has a digest. Source: ours.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from email.utils import formatdate
from hashlib import blake2b
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from kminilog.errors import LogDirError, in_words
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, decode_entry
from kminilog.format.names import TopicPartition, segment_name
from kminilog.storage.durable_files import check_real_directory, replace_file
from kminilog.storage.files import open_regular, read_regular, regular_status
from kminilog.storage.json_file import number, read_json, typed
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from kminilog.text import agreeing, count
from kminilog.verification.summaries import SegmentSummary

VERIFIED_DIR = ".verified"
_DIGEST_BYTES = 4096  # of the log, in front of the recorded end
_HIGHEST = 2**64 - 1
_CHANGED = "a segment has changed; verify read it and all later ones"
_FIELDS = (
    "base_offset",
    "first_offset",
    "last_offset",
    "message_count",
    "log_bytes",
    "index_entries",
    "start_offset",
    "next_offset",
    "compressed_count",
    "unplaced_count",
)  # whole numbers; the fingerprints are recorded, too


class OkOptions(NamedTuple):
    """The options of a verification that decide what `ok` means."""

    partitioner: str | None
    strict_index: bool
    is_full: bool

    def is_covered_by(self, other: "OkOptions") -> bool:
        """Tell if an `ok` of the other one is one of this, too."""
        is_less = self.strict_index <= other.strict_index and self.is_full <= other.is_full
        return is_less and self.partitioner == other.partitioner


class Files(NamedTuple):
    """What is compared of a segment besides the size of its log."""

    index_bytes: int
    changed_ns: int
    index_changed_ns: int


class LastOk(NamedTuple):
    """What is on record of a partition: `read_ms` is a time since when all of it was read."""

    offset: int
    read_ms: int
    digest: str
    segments: list[tuple[SegmentSummary, Files]]


class Trust(NamedTuple):
    """What is taken on trust, by partition; why not more is, with how many partitions.

    `before` has the sizes and times of all segments, by base offset, in front of the check.
    """

    partitions: dict[TopicPartition, LastOk]
    whys: Counter[str]
    before: dict[TopicPartition, dict[int, tuple[int, Files]]]


Rules = dict[str, Any]
"""What decides, besides options, if messages are ok: settings of the topic, where keys belong."""
RulesOf = Callable[[Topic], Rules]

NO_TRUST = Trust({}, Counter(), {})


# ---- reading


def read_trust(
    log_dir: LogDir,
    topics: Iterable[Topic],
    asked: OkOptions,
    rules_of: RulesOf,
) -> Trust:
    """Return what may be taken on trust now; raises nothing. O(segments)."""
    trust = Trust({}, Counter(), {})
    for topic in topics:
        try:
            known, why = _record(log_dir.path, topic, asked, rules_of(topic))
        except (LogDirError, OSError) as error:
            known, why = {}, in_words(error)
        for topic_partition in topic.all_partitions():
            trust.before[topic_partition] = _files_of(log_dir, topic_partition)
            last = known.get(topic_partition.partition)
            reason = why or "no earlier `ok` is recorded"
            if last is not None:
                last, reason = _still_true(log_dir, topic_partition, last)
            if last is not None:
                trust.partitions[topic_partition] = last
            if reason:
                trust.whys[reason] += 1
    return trust


def _record(
    log_dir: Path, topic: Topic, asked: OkOptions, rules: Rules
) -> tuple[dict[int, LastOk], str]:
    def parse(document: Any) -> tuple[dict[int, LastOk], str]:
        if document.pop("digest") != _digest_of(json.dumps(document).encode()):
            raise ValueError("somebody has changed it")
        if typed(document, dict)["topic_id"] != topic.topic_id:
            return {}, "the last `ok` is of an earlier topic of this name"
        if not asked.is_covered_by(OkOptions(**typed(document["asked"], dict))):
            return {}, "the last `ok` had other options"
        if document["rules"] != rules:
            return {}, "the last `ok` had other settings"
        rows = typed(document["partitions"], dict).items()
        return {number(int(name)): _last_ok(one) for name, one in rows}, ""

    try:
        return read_json(_path(log_dir, topic), parse, what="record of the last ok")
    except FileNotFoundError:
        return {}, ""


def _last_ok(facts: Any) -> LastOk:
    segments = [_segment(row) for row in typed(facts["segments"], list)]
    offset, read_ms = number(facts["offset"]), number(facts["read_ms"])
    return LastOk(offset, read_ms, typed(facts["digest"], str), segments)


def _segment(row: list[Any]) -> tuple[SegmentSummary, Files]:
    *values, fingerprints, index_bytes, changed_ns, index_changed_ns = typed(row, list)
    facts = dict(zip(_FIELDS, values, strict=True))
    for name, value in facts.items():
        if value is not None or name not in ("first_offset", "last_offset"):
            number(value, -1)
    sums = tuple([number(value, 0, _HIGHEST) for value in row] for row in typed(fingerprints, list))
    facts |= {"name": segment_name(facts["base_offset"]), "fingerprints": sums}
    summary = SegmentSummary(**facts, findings=[], unchecked=[])
    return summary, Files(*map(number, (index_bytes, changed_ns, index_changed_ns)))


def _still_true(
    log_dir: LogDir, topic_partition: TopicPartition, last: LastOk
) -> tuple[LastOk | None, str]:
    """Return the first segments that are as recorded, None without one, and why not all of them
    are trusted. The last one may have grown."""
    try:
        there = {one.base_offset: one for one in log_dir.reader(topic_partition).segments()}
        left = [*dropwhile(lambda one: one[0].base_offset not in there, last.segments)]
        same = [*takewhile(lambda one: _is_same(there.get(one[0].base_offset), one), left)]
        if left and (end := there.get(left[-1][0].base_offset)):
            if _digest(end, *left[-1]) != last.digest:
                return None, "the log ends earlier, or with other messages"
            if len(same) == len(left) - 1 and _goes_on(end, left[-1][0]):
                same = left
    except (LogDirError, OSError) as error:
        return None, in_words(error)
    is_known = len(same) == len(left) > 0
    return last._replace(segments=same) if same else None, "" if is_known else _CHANGED


def _is_same(segment: Segment | None, recorded: tuple[SegmentSummary, Files]) -> bool:
    return segment is not None and _files(segment) == (recorded[0].log_bytes, recorded[1])


def _goes_on(segment: Segment, known: SegmentSummary) -> bool:
    """Tell if a log has grown, and if so all new entries of its index are for new messages."""
    data = read_regular(segment.index.path)
    starts = range(known.index_entries * ENTRY_SIZE_BYTES, len(data) - ENTRY_SIZE_BYTES + 1)
    new = (decode_entry(data, start) for start in starts[::ENTRY_SIZE_BYTES])
    first = (known.next_offset or 0) - known.base_offset
    return segment.file_bytes > known.log_bytes and all(
        entry.relative_offset >= first and entry.position >= known.log_bytes for entry in new
    )


def _files_of(log_dir: LogDir, topic_partition: TopicPartition) -> dict[int, tuple[int, Files]]:
    """Return what is compared of all segments; {} if they cannot be listed."""
    try:
        segments = log_dir.reader(topic_partition).segments()
        return {segment.base_offset: _files(segment) for segment in segments}
    except (LogDirError, OSError):
        return {}


def _files(segment: Segment) -> tuple[int, Files]:
    log, index = map(regular_status, (segment.log_path, segment.index.path))
    return log.st_size, Files(index.st_size, log.st_mtime_ns, index.st_mtime_ns)


def _digest(segment: Segment, known: SegmentSummary, files: Files) -> str:
    """Return the digest of the last known bytes of a log, and of its known index."""
    start = max(known.log_bytes - _DIGEST_BYTES, 0)
    with open(segment.log_path, "rb", opener=open_regular) as log:
        log.seek(start)
        end = log.read(known.log_bytes - start)
    with open(segment.index.path, "rb", opener=open_regular) as index:
        return _digest_of(end + index.read(files.index_bytes))


def _digest_of(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def on_trust(partitions: Sequence[LastOk]) -> str:
    """Return what was taken on trust, in words; `partitions` are those of one topic, not none."""
    messages = sum(one.message_count for last in partitions for one, _ in last.segments)
    read = formatdate(min(last.read_ms for last in partitions) / 1000, usegmt=True)
    where = count(len(partitions), "partition")
    return (
        f"{count(messages, 'message')} in {where} {agreeing('are', messages)} taken on trust: "
        f"verify read each at {read} or later, and it was ok; damage since then shows only "
        "without --since-last"
    )


# ---- writing


def record_ok(
    log_dir: LogDir,
    topic: Topic,
    asked: OkOptions,
    rules: Rules,
    checked: Mapping[int, Sequence[SegmentSummary]],
    trust: Trust,
    now_ms: int,
) -> None:
    """Put on record that partitions of a topic are ok, by the segments that were checked.

    From the first segment on that has changed since `trust` was read, a partition is left out.
    Raises OSError.
    """
    partitions = dict(_recorded_now(log_dir, topic, checked, trust, now_ms))
    document = {
        "topic_id": topic.topic_id,
        "asked": asked._asdict(),
        "rules": rules,
        "partitions": partitions,
    }
    path = _path(log_dir.path, topic)
    with suppress(FileExistsError):
        path.parent.mkdir()
    check_real_directory(path.parent)
    temporary = path.with_name(f".{uuid4().hex}.tmp")  # nobody holds a lock
    document["digest"] = _digest_of(json.dumps(document).encode())
    replace_file(path, json.dumps(document).encode(), temporary=temporary)


def _recorded_now(
    log_dir: LogDir,
    topic: Topic,
    checked: Mapping[int, Sequence[SegmentSummary]],
    trust: Trust,
    now_ms: int,
) -> Iterator[tuple[str, dict[str, Any]]]:
    for partition, summaries in checked.items():
        topic_partition = TopicPartition(topic.name, partition)
        last = trust.partitions.get(topic_partition)
        with suppress(LogDirError, OSError):
            there = {one.base_offset: one for one in log_dir.reader(topic_partition).segments()}
            found = [*_unchanged(summaries, there, trust.before.get(topic_partition, {}))]
            if found:
                facts = {
                    "offset": found[-1][0].next_offset,
                    "read_ms": last.read_ms if last else now_ms,
                    "digest": _digest(there[found[-1][0].base_offset], *found[-1]),
                }
                yield str(partition), {**facts, "segments": [*map(_row, found)]}


def _unchanged(
    summaries: Sequence[SegmentSummary],
    there: Mapping[int, Segment],
    before: Mapping[int, tuple[int, Files]],
) -> Iterator[tuple[SegmentSummary, Files]]:
    """Yield the first segments whose files are as they were in front of the check."""
    for summary in summaries:
        segment = there.get(summary.base_offset)
        found = segment and _files(segment)
        if not found or found != before.get(summary.base_offset) or found[0] != summary.log_bytes:
            return
        yield summary, found[1]


def _row(recorded: tuple[SegmentSummary, Files]) -> list[Any]:
    summary, files = recorded
    return [*(getattr(summary, name) for name in _FIELDS), summary.fingerprints, *files]


def _path(log_dir: Path, topic: Topic) -> Path:
    return log_dir / VERIFIED_DIR / f"{topic.name}.json"
