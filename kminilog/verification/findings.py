"""The table of classes of findings; a finding, and its place.

A finding is one fault, of one class, at one place. The *place* is a segment, an offset and a
position. The position is a byte of the `.index` for `index-order`, `index-position` and
`index-past-end`, and a byte of the `.log` for all other classes. A `Tally` counts all findings but
keeps only a few of each class, so its memory does not grow with the damage.

This module neither makes findings nor judges them. Source: ours; Kafka's DumpLogSegments checks
only checksums and index entries.
"""

from collections.abc import Callable, Collection, Iterable
from enum import Enum, StrEnum
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol, Self

from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX, TopicPartition
from kminilog.json_fields import bytes_field, strict_json
from kminilog.verification.both_sides import NEITHER_SIDE, BothSides

SAMPLE_COUNT = 20
_ID_BYTES = 12


class Aspect(StrEnum):
    """What can be checked; scripts depend on these names."""

    MESSAGES = "messages"
    INDEXES = "indexes"
    LOG_STARTS = "log-starts"
    LOG_ENDS = "log-ends"
    JOBS = "jobs"
    DIGESTS = "digests"
    PLACEMENT = "placement"
    COMPRESSED = "compressed-messages"
    SOURCE = "source"
    PLACES = "places"
    COPIES = "copies"
    PRODUCERS = "producers"  # these three are of a broker's files
    LEADER_EPOCHS = "leader-epochs"
    RECORDS = "records"


class Effect(Enum):
    """What else a fault may cause, and so explains (causes.py)."""

    NOTHING = 0
    LOSS = 1  # messages are lost there: their records are missing; and as DISORDER
    DISORDER = 2  # another finding about the very message
    ADDITION = 3  # the messages after it have other offsets than their job gave them


# What several classes say: what to do, or what it leads to.
_DAMAGED = "Readers stop there. `kminilog recover PARTITION --dry-run` says what can be kept."
_GONE = "The log cannot restore them. Look for a copy or for their source."
_RUN_RECOVER = "No message is lost: `kminilog recover` builds the index again."
_LOOK_FIRST = "Find out who wrote these files before you repair anything."
_AGAIN = "The source still has it: it can be stored again, in another place."


class FindingKind(StrEnum):
    """What the row of a table of classes has; the tables are subclasses, so each is an enum.

    A row has the name, what a fault of this class means, what to do about it or what it leads to,
    then

        severity   "warning" if recovery repairs it, and no message is lost or wrong; else "error"
        suffix     in which file of the segment its place is
        shown_by   the command that shows it (commands.py has the exceptions)
        aspect     the check that looks for it: its JUnit case is skipped without
        effect     what else it may cause
    """

    meaning: str
    advice: str
    severity: str
    suffix: str
    shown_by: str
    aspect: Aspect
    effect: Effect

    def __new__(cls, name: str, *row: Any) -> Self:
        """Make a row; the class, called with a name alone, returns the row of that name."""
        one = str.__new__(cls, name)
        one._value_ = name
        one.meaning, one.advice, one.severity, *others = row
        one.suffix, one.shown_by, one.aspect, one.effect = others
        return one


class FindingClass(FindingKind):
    """The kinds of faults: of the stored bytes and, the last five, in comparison with a source.

    This is the one table of them for a log dir of kminilog; the files of a Kafka broker have
    another one. Text, page and JUnit show its sentences, and docs/verification.md is made of it.

    `altered` is of both kinds: the fingerprint of a range differs from its job's manifest, or one
    message differs from its record.

    >>> FindingClass("index-sparse").severity, FindingClass.MISSING.meaning
    ('warning', 'The source has a record that is not in the log.')
    """

    BAD_CRC = (
        "bad-crc",
        "The bytes of a message have changed: its checksum does not match.",
        _DAMAGED,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.LOSS),
    )
    BAD_LENGTH = (
        "bad-length",
        "The size of a message is impossible, so its end is unknown.",
        _DAMAGED,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.LOSS),
    )
    BAD_MAGIC = (
        "bad-magic",
        "A message has another format than the one that kminilog writes.",
        _DAMAGED,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.LOSS),
    )
    TORN_TAIL = (
        "torn-tail",
        "The last message is not complete, as after a crash in the middle of a write.",
        "`kminilog recover` or the next writer cuts it off, and keeps what it cuts in a file.",
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.LOSS),
    )
    LOST_END = (
        "lost-end",
        "Messages at the end of the log are gone, although they were on the disk.",
        _GONE,
        *("error", LOG_SUFFIX, "recover", Aspect.LOG_ENDS, Effect.LOSS),
    )
    LOST_START = (
        "lost-start",
        "Messages at the beginning of the log are gone, and retention has not deleted them.",
        _GONE,
        *("error", LOG_SUFFIX, "verify", Aspect.LOG_STARTS, Effect.LOSS),
    )
    LOST_PARTITION = (
        "lost-partition",
        "The directory of a partition is gone, with all messages that were in it.",
        "Put a copy of it back. Without it, nobody can write to the partition or read it.",
        *("error", LOG_SUFFIX, "verify", Aspect.MESSAGES, Effect.LOSS),
    )
    OFFSET_GAP = (
        "offset-gap",
        "Offsets are missing between two messages: messages were lost, or never written.",
        _LOOK_FIRST,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.LOSS),
    )
    OFFSET_OVERLAP = (
        "offset-overlap",
        "Two messages have the same offset, so it identifies neither.",
        _LOOK_FIRST,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.DISORDER),
    )
    OFFSET_DISORDER = (
        "offset-disorder",
        "A message has an offset that does not fit between its neighbours.",
        _LOOK_FIRST,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.DISORDER),
    )
    NAME_BASE_MISMATCH = (
        "name-base-mismatch",
        "The first message of a segment has another offset than the segment's name says.",
        "A search starts in the wrong file then. Find out who renamed the file.",
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.NOTHING),
    )
    INDEX_POSITION = (
        "index-position",
        "An index entry points to a byte where its message does not begin.",
        _RUN_RECOVER,
        *("warning", INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    INDEX_ORDER = (
        "index-order",
        "The entries of an index do not ascend, or the index ends inside an entry.",
        _RUN_RECOVER,
        *("warning", INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    INDEX_PAST_END = (
        "index-past-end",
        "An index entry points past the end of the log.",
        _RUN_RECOVER,
        *("warning", INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    INDEX_SPARSE = (
        "index-sparse",
        "The index lacks an entry, or the whole index is missing. Searches still work, but slowly.",
        _RUN_RECOVER,
        *("warning", LOG_SUFFIX, "find", Aspect.INDEXES, Effect.NOTHING),
    )
    ORPHAN_FILE = (
        "orphan-file",
        "A file in the directory belongs to no segment. No reader looks at it.",
        "`kminilog recover` removes an index without a log. Move any other file away.",
        *("warning", INDEX_SUFFIX, "recover", Aspect.MESSAGES, Effect.NOTHING),
    )
    ORPHAN_PARTITION = (
        "orphan-partition",
        "A directory holds messages, but it belongs to no topic. No reader looks at them.",
        "Put the settings file of its topic back, or mend it. Or move the directory away.",
        *("error", LOG_SUFFIX, "verify", Aspect.MESSAGES, Effect.NOTHING),
    )
    WRONG_PARTITION = (
        "wrong-partition",
        "A message is in another partition than its key belongs to.",
        "Consumers that expect all messages of a key in one partition miss it.",
        *("error", LOG_SUFFIX, "find", Aspect.PLACEMENT, Effect.ADDITION),
    )
    ALTERED = (
        "altered",
        "A message was changed after it was written: it has another key or value now.",
        "With --against, the report shows both side by side. The source has the right one.",
        *("error", LOG_SUFFIX, "find", Aspect.JOBS, Effect.NOTHING),
    )
    MANIFEST_MISMATCH = (
        "manifest-mismatch",
        "The manifest of an ingest job contradicts itself or the log.",
        _LOOK_FIRST,
        *("error", LOG_SUFFIX, "verify", Aspect.JOBS, Effect.NOTHING),
    )
    MISSING = (
        "missing",
        "The source has a record that is not in the log.",
        _AGAIN,
        *("error", LOG_SUFFIX, "verify", Aspect.SOURCE, Effect.NOTHING),
    )
    EXTRA = (
        "extra",
        "The log has a message that the source does not have.",
        "It may come from another source: then `--job` compares only what one job wrote.",
        *("error", LOG_SUFFIX, "find", Aspect.SOURCE, Effect.ADDITION),
    )
    DUPLICATE = (
        "duplicate",
        "The log has a message more often than the source has it.",
        "A producer may have sent it twice. Consumers read it twice.",
        *("error", LOG_SUFFIX, "find", Aspect.SOURCE, Effect.ADDITION),
    )
    KEY_ORDER = (
        "key-order",
        "Two messages with one key are in another order than in the source.",
        "A reader that keeps the last message of each key keeps the wrong one.",
        *("error", LOG_SUFFIX, "find", Aspect.SOURCE, Effect.NOTHING),
    )
    MOVED = (
        "moved",
        "A message has another partition or offset than its record in the source says.",
        "Every load by a job gives new ones. A copy of files does not.",
        *("error", LOG_SUFFIX, "find", Aspect.PLACES, Effect.NOTHING),
    )


class Cause(NamedTuple):
    """The finding that explains another one, by its class and its place.

    Unless it `is_certain`, the other finding may have another cause.
    """

    kind: FindingKind
    place: str
    is_certain: bool

    def to_json(self) -> dict[str, Any]:
        """Return what `verify --json` prints under `cause`."""
        return {"class": self.kind.value, "place": self.place, "certain": self.is_certain}

    @property
    def link(self) -> str:
        """How a finding follows from this cause, in words."""
        return "so" if self.is_certain else "may be why"


class Finding(NamedTuple):
    """One fault; or, with `stands_for` above 1, the sample for several faults of this class.

    `segment` is the segment's 20 digits; `source` names the record of a source. The partition is -1
    if it is not known, as for a missing record without a key. With `last_offset`, it is about
    `offset` to `last_offset`: all of them are missing, or one of them is altered. `sides` has the
    record and the message, if shown.
    `key` is that of the message or the record, where it is known. `rest` is the part of a file that
    has the others which a sample stands for.
    """

    kind: FindingKind
    topic: str
    partition: int
    detail: str
    segment: str | None = None
    offset: int | None = None
    position: int | None = None
    source: str | None = None
    stands_for: int = 1
    last_offset: int | None = None
    cause: Cause | None = None
    sides: BothSides = NEITHER_SIDE
    key: bytes | None = None
    rest: str | None = None

    @property
    def place(self) -> str:
        """The place as text.

        >>> name = "00000000000000000000"
        >>> Finding(FindingClass.BAD_CRC, "orders", 0, "", name, offset=5, position=170).place
        'orders-0/00000000000000000000.log, offset 5, byte 170'
        >>> Finding(FindingClass.ALTERED, "orders", 0, "", offset=0, last_offset=9).place
        'orders-0, somewhere in offsets 0..9'
        """
        is_known = self.partition >= 0
        file = str(TopicPartition(self.topic, self.partition)) if is_known else self.topic
        if self.segment is not None:
            file += f"/{self.segment}{self.kind.suffix}"
        offset = None if self.offset is None else f"offset {self.offset}"
        if self.last_offset is not None:
            somewhere = "somewhere in " * (self.kind == FindingClass.ALTERED)
            offset = f"{somewhere}offsets {self.offset}..{self.last_offset}"
        position = None if self.position is None else f"byte {self.position}"
        return ", ".join(filter(None, (self.source, file, offset, position)))

    def to_json(self) -> dict[str, Any]:
        """Return the sample as `verify --json` prints it."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "segment": self.segment,
            "offset": self.offset,
            "last_offset": self.last_offset,
            "position": self.position,
            "source": self.source,
            "detail": self.detail,
            "cause": self.cause and self.cause.to_json(),
            **self.sides.to_json(),
        }


def parse_classes(
    names: Collection[str], classes: type[FindingKind] = FindingClass
) -> frozenset[FindingKind]:
    """Return the classes with these names; ValueError, which lists all names, for an unknown one.

    `classes` is the table that has them.

    >>> parse_classes(["offset-gap"])
    frozenset({<FindingClass.OFFSET_GAP: 'offset-gap'>})
    """
    for name in names:
        if name not in list(classes):
            raise ValueError(f"no class of findings {name!r}; there are: {', '.join(classes)}")
    return frozenset(map(classes, names))


# ---- every finding, as a row of a table


ROW_TYPES = {
    "id": str,
    "class": str,
    "severity": str,
    "topic": str,
    "partition": int,
    "segment": str,
    "offset": int,
    "last_offset": int,
    "position": int,
    "source_file": str,
    "source_file_base64": str,
    "source_line": int,
    "source_row": int,
    "source_position": int,
    "source_digest": str,
    "key": str,
    "key_base64": str,
    "columns": list,
    "differs": str,
    "detail": str,
}
"""The columns of a row; `columns` is a list of texts. All but the first five may be null."""


class Origin(NamedTuple):
    """Where the record of a finding is, and in what it differs from its message.

    `line` and `row` count from 1; `position` is the byte where the line begins. `digest` is that of
    key and value, of a missing record. `columns` are the names of what differs; `differs` has both
    sides.
    """

    file: str | None = None
    line: int | None = None
    row: int | None = None
    position: int | None = None
    columns: list[str] | None = None
    differs: str | None = None
    digest: str | None = None


NO_ORIGIN = Origin()


def row_of(finding: Finding, origin: Origin) -> dict[str, Any]:
    """Return a finding as a row of ROW_TYPES.

    The id depends on the class and the place, or else on the detail. So it stays the same when the
    same log is verified again, by any engine.

    >>> found = Finding(FindingClass.EXTRA, "orders", 0, "no record", offset=5, key=b"alice")
    >>> row = row_of(found, NO_ORIGIN)
    >>> row["id"], row["offset"], row["key"]
    ('ba43e69518c3ba20f934cbb6', 5, 'alice')
    """
    at = (finding.segment, finding.offset, finding.last_offset, finding.position)
    of_source = (origin.file, origin.row if origin.position is None else origin.position)
    is_placed = finding.offset is not None or origin.file is not None
    is_one = is_placed and finding.kind != FindingClass.MANIFEST_MISMATCH
    what = (finding.kind.value, finding.topic, finding.partition, *at, *of_source)
    told = repr((*what, None if is_one else finding.detail)).encode()
    row = {
        "id": blake2b(told, digest_size=_ID_BYTES).hexdigest(),
        "class": finding.kind.value,
        "severity": finding.kind.severity,
        "topic": finding.topic,
        "partition": finding.partition,
        "segment": finding.segment,
        "offset": finding.offset,
        "last_offset": finding.last_offset,
        "position": finding.position,
        "source_file": origin.file,
        "source_line": origin.line,
        "source_row": origin.row,
        "source_position": origin.position,
        "source_digest": origin.digest,
        **bytes_field("key", finding.key),
        "columns": origin.columns,
        "differs": origin.differs,
        "detail": finding.detail,
    }
    found: dict[str, Any] = strict_json(row)
    return found


# ---- few of many


class Rest(Protocol):
    """Takes the findings of a class that are not kept."""

    def add(self, finding: Finding) -> None:
        """Take a finding."""
        ...

    def close(self) -> str | None:
        """Return where they are."""
        ...


NewRest = Callable[[], Rest]


class Tally:
    """For each class, the number of findings and the first SAMPLE_COUNT of them.

    >>> tally = Tally()
    >>> for offset in range(30):
    ...     tally.add(Finding(FindingClass.BAD_CRC, "orders", 0, "", offset=offset))
    >>> tally.counts()
    {<FindingClass.BAD_CRC: 'bad-crc'>: 30}
    >>> len(tally.findings()), tally.findings()[-1].stands_for
    (20, 11)
    """

    def __init__(self, findings: Iterable[Finding] = (), rest: NewRest | None = None) -> None:
        """Count some findings. `rest` makes what takes those of a class that are not kept."""
        self._counts: dict[FindingKind, int] = {}
        self._samples: dict[FindingKind, list[Finding]] = {}
        self._new_rest = rest
        self._rests: dict[FindingKind, Rest] = {}
        for finding in findings:
            self.add(finding)

    def add(self, finding: Finding, count: int | None = None) -> None:
        """Count a finding `count` times; by default, `stands_for` times. O(1)."""
        kind = finding.kind
        times = finding.stands_for if count is None else count
        self._counts[kind] = self._counts.get(kind, 0) + times
        samples = self._samples.setdefault(kind, [])
        if len(samples) < SAMPLE_COUNT:
            samples.append(finding._replace(stands_for=1))
        elif self._new_rest:
            if kind not in self._rests:
                self._rests[kind] = self._new_rest()
            self._rests[kind].add(finding)

    def counts(self) -> dict[FindingKind, int]:
        """Return the number of findings of each class, in the order of the classes' first ones."""
        return dict(self._counts)

    def total(self) -> int:
        """Return how many findings there are in all."""
        return sum(self._counts.values())

    def samples(self, kind: FindingKind) -> list[Finding]:
        """Return the first findings of a class, at most SAMPLE_COUNT."""
        return list(self._samples.get(kind, ()))

    def findings(self) -> list[Finding]:
        """Return all samples by class; the last one of a class also stands for those not kept.

        If something takes these, it is closed.
        """
        found = []
        for kind, samples in self._samples.items():
            surplus = self._counts[kind] - len(samples)
            rest = self._rests[kind].close() if kind in self._rests else samples[-1].rest
            found += [*samples[:-1], samples[-1]._replace(stands_for=1 + surplus, rest=rest)]
        return found
