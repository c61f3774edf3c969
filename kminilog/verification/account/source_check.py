"""The account of a source in a report: what is missing, extra, duplicate, altered, out of order.

    sums are equal                            ok, after one pass over each side
    sums differ in some cells                 the account of the families in these cells
    sums say nothing                          the account of everything

Sums say nothing if nobody can know where records with keys belong, if the source is a DataFrame, or
if offsets are not ascending. The numbers of the account then add up:

    source + extra + duplicate = stored + rejected + missing

An altered record is counted on both sides, as a record of the source and as a stored one. One
damage may cause several findings, some of the storage checks and some of this account. Each is
counted in its class, and is linked with the finding that has caused it (causes.py).

An account knows digests and places, not values. So a report that shows a record beside its message
reads both again, but of samples only. What has changed meanwhile is said, and not shown. Source:
ours.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import pyarrow as pa

from kminilog.format.names import LOG_SUFFIX, TopicPartition, segment_name
from kminilog.jobs.ingest.job_identity import file_facts, source_change
from kminilog.jobs.source.columns import AnyColumns, Columns, left_out
from kminilog.jobs.source.description import (
    DATAFRAME,
    Place,
    Source,
    check_count,
    check_unchanged,
    files_of,
    locate,
)
from kminilog.jobs.source.file_columns import FileColumns
from kminilog.jobs.source.pieces import content_digest, lines_in_front
from kminilog.jobs.source.places import Order
from kminilog.jobs.source.reading_again import records_at
from kminilog.jobs.source.source_files import SourceFile
from kminilog.jobs.source.tasks import TASKS_PER_CORE, LocalTasks
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.manifests import Manifest
from kminilog.storage.segment.log_file import message_at
from kminilog.storage.topics import Topic
from kminilog.text import count
from kminilog.verification.account.account import (
    REJECTED,
    Account,
    PairGroup,
    Sample,
    StoredPlace,
    merged,
)
from kminilog.verification.account.account import Groups as PairGroups
from kminilog.verification.account.checksum_pass import ChecksumPass, Compared
from kminilog.verification.account.engine import Engine, Input, Shuffle
from kminilog.verification.account.expected import ExpectedPartition, recorded_paths
from kminilog.verification.account.log_parts import Part, parts_of, ranges_of
from kminilog.verification.account.pair_lines import DETAILS, PairLines, finding_of, with_sides
from kminilog.verification.account.rejections import Rejections, quarantine_files
from kminilog.verification.account.row_join import Judged, RecordReader, RowJoin, joined
from kminilog.verification.account.rows import Counted, Item
from kminilog.verification.account.sides import Sides
from kminilog.verification.both_sides import BothSides, KeyValue, both_sides
from kminilog.verification.causes import DAMAGE, cause_at, cause_in_source, cause_of
from kminilog.verification.conservation import holds
from kminilog.verification.coverage import Unchecked
from kminilog.verification.findings import Aspect, Finding, FindingClass, Tally
from kminilog.verification.report import Report

# ---- the account, in one pass or two


_BUCKET_BYTES = 256 << 20
_BUCKET_ROWS = 1_000_000  # of each side: about 600 MB while they are paired

Bounds = Mapping[int, tuple[int, int]]
Shown = Collection[tuple[int, int]]


class Reading(NamedTuple):
    """What tasks read of a source, None of a DataFrame, and what they read of a log."""

    columns: AnyColumns | None
    records: Sequence[Any] | None
    parts: Sequence[Sequence[Part]]

    def sides(self, step: ChecksumPass | RowJoin, told: Callable[[str], object]) -> Sequence[Input]:
        """Return both sides, as a step reads them."""
        log = Input(self.parts, partial(_messages, step, told))
        if self.columns is None:
            assert isinstance(step, RowJoin), "nobody sums a DataFrame"
            return Input(None, RecordReader(step).read), log
        return Input(self.records, partial(_records, step, told, self.columns)), log

    @property
    def size_bytes(self) -> int:
        """How many bytes both sides have, as far as that is known."""
        log_bytes = sum(sum(part.sizes) for group in self.parts for part in group)
        return log_bytes + (self.columns.size_bytes if self.columns else 0)


def _records(
    step: ChecksumPass | RowJoin,
    told: Callable[[str], object],
    columns: Columns[Any],
    items: Iterable[Any],
) -> Iterator[Item]:
    def batches() -> Iterator[pa.RecordBatch]:
        for batch in columns.read([*items]):
            told(f"reading {count(batch.num_rows, 'record')}")
            yield batch

    return step.read_records(batches())


def _messages(
    step: ChecksumPass | RowJoin, told: Callable[[str], object], parts: Iterable[Part]
) -> Iterator[Item]:
    for part in parts:
        told(f"reading {part.topic_partition}")
        yield from step.read_messages(part)


def sums(engine: Engine, step: ChecksumPass, reading: Reading) -> Compared:
    """Return what the checksum pass finds: the sums of both sides, compared."""
    return engine.exchange(
        reading.sides(step, engine.told),
        [Shuffle(step.ranges, step.compare)],
        step.joined,
        step="comparing sums",
        size_bytes=reading.size_bytes,
    )


def rows(engine: Engine, join: RowJoin, reading: Reading) -> Judged:
    """Return what the row join finds: the rows of both sides, paired and judged."""
    partitions = min(join.sides.partitions + 1, engine.cores * TASKS_PER_CORE)
    return engine.exchange(
        reading.sides(join, engine.told),
        [
            Shuffle(join.buckets + 1, join.pair, passes=join.buckets),
            Shuffle(partitions, lambda partition, items: [join.judge(partition, items)]),
        ],
        joined,
        step="comparing rows",
        size_bytes=reading.size_bytes,
    )


def compare(
    engine: Engine,
    sides: Sides,
    reading: Reading,
    *,
    total_bytes: int,
    messages: int,
    shown: Shown,
    bounds: Bounds,
    is_full: bool,
    lines: Callable[[], PairLines | None] = lambda: None,
) -> Account:
    """Return the account of a source and a log.

    `total_bytes` is about what both sides have, `messages` how many the log has. `shown` has
    partitions and offsets of messages whose records are wanted; `bounds` by partition the first and
    the next offset of what jobs wrote. With `is_full` everything is compared row by row. `lines` is
    asked if rows are compared. O(bytes), in tasks.
    """
    steps, wanted, most_rows = [], None, messages
    has_sums = reading.records and sides.expected.knows_keyed and not sides.same_places
    if has_sums and not is_full:
        tasks = len(reading.records or ()) + len(reading.parts)
        step = ChecksumPass.of(sides, tasks, total_bytes)
        counted, differing = sums(engine, step, reading)
        steps.append("sums")
        if differing is not None and not differing.any() and not shown:
            return Account(counted.source, counted.stored, _left_out(counted), steps)
        wanted = differing if not shown else None
        most_rows = max(messages, counted.source)
    steps.append(
        "account" if wanted is None else f"account of {int(wanted.sum())} of {len(wanted)} cells"
    )
    buckets = max(engine.cores, -(-total_bytes // _BUCKET_BYTES), -(-most_rows // _BUCKET_ROWS))
    join = RowJoin(sides, buckets, wanted, shown, bounds, lines())
    counted, found, parts = rows(engine, join, reading)
    found = merged([_left_out(counted), found])
    return Account(counted.source, counted.stored, found, steps, parts)


def _left_out(counted: Counted) -> PairGroups:
    """Return the group of rejected records that no step has paired; none without such."""
    return {REJECTED: PairGroup(counted.left_out, [])} if counted.left_out else {}


# ---- samples


SHOWN_KINDS = (FindingClass.MISSING, FindingClass.EXTRA, FindingClass.ALTERED)
_CHANGED = "the log has changed since it was compared"


class ShownSamples:
    """Reads records and messages of samples again."""

    def __init__(
        self,
        log_dir: LogDir,
        topic: Topic,
        source: Source,
        files: Sequence[SourceFile],
        samples: Iterable[Sample],
        columns: AnyColumns | None = None,
    ) -> None:
        """Read the records of `samples`; see `records_at` for `columns`, and for what it costs."""
        self._log_dir = log_dir
        self._topic = topic
        places = [sample.source for sample in samples if sample.source]
        self._records = records_at(source, files, places, columns) if places else {}

    def both_sides(self, sample: Sample) -> BothSides:
        """Return the record and the message of a sample, and why one of them is not shown."""
        found = self._records[sample.source] if sample.source else None
        message = self._message(sample.stored) if sample.stored else None
        reasons = []
        if isinstance(found, str):
            reasons.append(f"the record is not shown: {found}")
        if isinstance(message, str):
            reasons.append(f"the message is not shown: {message}")
            message = None
        record = None if found is None or isinstance(found, str) else KeyValue(*found)
        return both_sides(record, message, "; ".join(reasons) or None)

    def _message(self, stored: StoredPlace) -> KeyValue | str:
        partition = TopicPartition(self._topic.name, stored.partition)
        name = segment_name(stored.segment) + LOG_SUFFIX
        path = self._log_dir.directory(partition) / name
        try:
            found = message_at(self._topic.dialect, path, stored.position)
        except OSError:  # retention has deleted it
            found = None
        if found is None or found.offset != stored.offset:
            return _CHANGED
        return KeyValue(found.key, found.value)


# ---- the report


Locators = Mapping[Place, str]


def check_against(
    engine: Engine,
    log_dir: LogDir,
    topic: Topic,
    source: Source,
    *,
    jobs: Sequence[Manifest],
    within: Manifest | None,
    partitioner: str | None,
    is_full: bool,
    report: Report,
) -> None:
    """Add the account of a source to a report that has the findings of the storage checks.

    `jobs` are on record for the topic. `within` is the job whose messages are compared; None for
    all messages. `partitioner` is what the user says has placed the keys. `is_full` compares all
    rows, even if sums are equal. O(source + log). Raises SourceError, also for a source without
    records that may not be empty.
    """
    files = files_of(source)
    quarantined = quarantine_files(log_dir.path, jobs)
    order = Order.of(source, len(files))
    sides = Sides(
        log_dir=log_dir,
        partitions=topic.partitions,
        within=ranges_of(topic, within) if within else None,
        expected=ExpectedPartition.of(
            topic, partitioner, source, jobs, is_within=within is not None
        ).told(source),
        rejections=Rejections.of(source, files, jobs, quarantined, order),
        order=order,
        same_places=source.same_places,
    )
    misplaced = report.tally.samples(FindingClass.WRONG_PARTITION)
    with engine.at(str(source)) as here:
        columns, records = here.columns(source, files)
        parts, log_bytes = parts_of(log_dir, topic, sides.within, here.cores)
        account = compare(
            here,
            sides,
            Reading(columns, records, parts),
            total_bytes=log_bytes + sum(file.size_bytes for file in files),
            messages=sum(partition["message_count"] for partition in report.partitions),
            shown=[(found.partition, found.offset or 0) for found in misplaced],
            bounds=_bounds(jobs),
            is_full=is_full,
            lines=lambda: _lines(here, columns, topic, source, files, order, report),
        )
        report.scope["left_out"] = left_out(columns, here)
    check_unchanged(source, files)
    check_count(source, account.source)
    report.unchecked += _left_behind(source, report.scope["left_out"])
    report.unchecked += _changes(source, files, jobs)
    groups = (account.groups[kind] for kind in SHOWN_KINDS if kind in account.groups)
    samples = [sample for group in groups for sample in group.samples]
    shown = ShownSamples(log_dir, topic, source, files, samples, columns)
    locators = locate(source, files, [s.source for s in account.samples() if s.source])
    report.scope["quarantine"] = [str(path) for path in quarantined]
    _add(report, topic, source, account, locators, shown)


def _lines(
    engine: Engine,
    columns: AnyColumns | None,
    topic: Topic,
    source: Source,
    files: Sequence[SourceFile],
    order: Order,
    report: Report,
) -> PairLines | None:
    """Return what writes every pair down, if somebody wants every finding."""
    if report.all_findings is None:
        return None
    in_front: Mapping[tuple[int, int], int] = {}
    if order.by_position and isinstance(columns, FileColumns):
        in_front = lines_in_front(columns.pieces, engine)
    paths = [file.path for file in files] or [str(source)]
    parts = report.all_findings.parts
    return PairLines(topic.name, source, paths, order.by_position, in_front, parts)


def _add(
    report: Report,
    topic: Topic,
    source: Source,
    account: Account,
    locators: Locators,
    shown: ShownSamples,
) -> None:
    """Add what the account has found, and link it with the findings of the storage checks."""
    damage = [found for kind in DAMAGE for found in report.tally.samples(kind)]
    findings = [
        found._replace(cause=found.cause or cause_at(found, damage))
        for found in _findings(topic, account, locators, damage, shown)
    ]
    if source == DATAFRAME:
        findings = [found for found in findings if found.kind != FindingClass.KEY_ORDER]
        why = "the order of keys: the rows of a DataFrame have none"
        report.unchecked.append(Unchecked(Aspect.SOURCE, str(source), why))
    if report.all_findings:
        report.all_findings.add_parts(account.parts)
    # The samples of the account count in their partitions and segments, too.
    parts = {(part["topic"], part["partition"]): part for part in report.partitions}
    for found in findings:
        if part := parts.get((found.topic, found.partition)):
            part["finding_count"] += 1
            for row in part["segments"]:
                row["finding_count"] += row["segment"] == found.segment
    stored = _with_sources(report.tally.findings(), account, locators)
    misplaced = [found for found in stored if found.kind == FindingClass.WRONG_PARTITION]
    causes = [*findings, *(found for found in misplaced if not cause_in_source(found, findings))]
    linked = [found._replace(cause=cause_in_source(found, causes)) for found in stored]
    # Altered ranges come last, because a class keeps its first samples.
    ranges = [found for found in linked if found.kind == FindingClass.ALTERED]
    report.tally = Tally([*(found for found in linked if found not in ranges), *findings, *ranges])
    counts = {"source": account.source, "stored": account.stored}
    for kind in ("missing", "extra", "duplicate", REJECTED, "altered"):
        counts[kind] = account.count(kind)
    report.conservation = {**counts, "holds": holds(counts)}
    report.checked += [Aspect.SOURCE, *[Aspect.PLACES] * source.same_places]
    if source.knows_places and not source.same_places:
        why = "partitions and offsets, which a job gives anew"
        report.unchecked.append(Unchecked(Aspect.PLACES, str(source), why, "--same-places"))
    report.scope["steps"] = account.steps
    if not report.conservation["holds"]:
        why = "its account does not add up; verify it again"
        report.unchecked.append(
            Unchecked(Aspect.SOURCE, str(source), why, asked=True, may_pass=True)
        )


def _changes(
    source: Source, files: Sequence[SourceFile], jobs: Sequence[Manifest]
) -> Iterator[Unchecked]:
    """Yield, for each job that has read this very source, how it has changed since.

    Reads the files once more, if a time of a last change differs from that of a job.
    """
    content = cache(lambda: content_digest(files, LocalTasks()))
    for job in jobs:
        if not source.is_what_was_read(recorded_paths(job)):
            continue
        if change := source_change(job, file_facts(files), content):
            why = f"it has changed since job {job.job_id} read it: {change}"
            yield Unchecked(Aspect.SOURCE, f"{source}, as it was", why)


def _left_behind(source: Source, rows: Sequence[Mapping[str, Any]]) -> Iterator[Unchecked]:
    """Yield what a Kafka broker's records have and messages have not, and what is no message."""
    if rows:
        from kminilog.jobs.source.broker_topics import in_words

        yield from (Unchecked(Aspect.SOURCE, str(source), why) for why in in_words(rows))


def _bounds(jobs: Sequence[Manifest]) -> dict[int, tuple[int, int]]:
    """Return, by partition, the first and the next offset of all that jobs have written."""
    bounds: dict[int, tuple[int, int]] = {}
    for staged in (staged for job in jobs for staged in job.partitions):
        first, end = bounds.get(staged.partition, (staged.first_offset, staged.next_offset))
        bounds[staged.partition] = min(first, staged.first_offset), max(end, staged.next_offset)
    return bounds


def _with_sources(
    findings: Iterable[Finding], account: Account, locators: Locators
) -> list[Finding]:
    """Return the findings of the storage checks, with the source's record where one is known."""
    sources = {
        (sample.stored.partition, sample.stored.offset): locators[sample.source]
        for sample in account.samples()
        if sample.stored and sample.source
    }
    return [
        found._replace(source=sources.get((found.partition, found.offset)))
        if found.kind == FindingClass.WRONG_PARTITION and found.offset is not None
        else found
        for found in findings
    ]


# ---- what the account has found


def _findings(
    topic: Topic,
    account: Account,
    locators: Locators,
    damage: Sequence[Finding],
    shown: ShownSamples,
) -> list[Finding]:
    """Return a finding for each sample; the last one of a class stands for the rest of it."""
    findings = []
    for kind in DETAILS:
        if kind in account.groups:
            total, samples = account.groups[kind]
            found = []
            for sample in samples:
                one = finding_of(topic.name, kind, sample)
                if sample.source:
                    one = one._replace(source=locators[sample.source])
                if sample.slot and not sample.stored:
                    one = one._replace(cause=cause_of(sample.slot, damage))
                if kind in SHOWN_KINDS:
                    one = with_sides(one, shown.both_sides(sample))
                found.append(one)
            surplus = total - len(found)
            findings += [*found[:-1], found[-1]._replace(stands_for=1 + surplus)]
    return findings
