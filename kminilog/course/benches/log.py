"""The bench of a log: append messages of one's own, roll, find an offset, crash, recover.

    append k1 apple    the segment that it goes into, and whether it gets an index entry
    roll               a new segment
    find 7             names, entries and walk, as `step find-offset` shows them
    crash 58           of the last `.log`, only the first 58 bytes are on the disk
    recover            what is kept, and why

A real log in a temporary directory does all acts anew. The document has the last one only; its
picture shows the last segments, its bytes are those of the last one. Source: S1 5.1 to 5.3; ours.
"""

import os
from collections.abc import Mapping, Sequence
from functools import reduce

from kminilog.course.benches.bench import (
    Bench,
    BenchAct,
    BenchField,
    act_words,
    whole_number,
)
from kminilog.course.steps.temporary_partition import (
    PARTITION,
    entry_cell,
    listed_segments,
    log_fields,
    message_ends,
    reader_of,
    segments_table,
    temporary_log,
)
from kminilog.errors import KMiniLogError
from kminilog.explain.document import (
    UNPARSED,
    Bar,
    ByteRange,
    Document,
    Field,
    File,
    Picture,
    PictureLane,
    Value,
)
from kminilog.explain.field_layout import index_fields
from kminilog.explain.file_pictures import files_picture, stacked
from kminilog.explain.find_offset import document as search_document
from kminilog.explain.script import Script
from kminilog.format.dialect import DIALECTS, DOCUMENTED, Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, is_due
from kminilog.format.message import encoded_bytes
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import Decision, carry_out, plan_recovery

STEPS = ("An empty log", "A message", "A roll", "No roll", "A crash", "Recovery")
LEAST_SEGMENT_BYTES, MOST_SEGMENT_BYTES = 64, 1_000  # so that a page can show some segments
_SHOWN_SEGMENTS = 3
_SHOWN_ROWS = 8


class _Played:
    """A log after some acts, and what the last one of them has to say."""

    def __init__(self, log: PartitionLog, told: Script) -> None:
        self.log = log
        self.told = told
        self.has_crashed = False
        self.side_files: list[str] = []
        self.step = "An empty log"
        self.focus: list[ByteRange] = []
        self.values: dict[str, Value] = {}
        self.found: Document | None = None

    @property
    def reader(self) -> PartitionReader:
        """A reader that knows only the files."""
        return reader_of(self.log)

    def act(self, name: str, *words: str) -> None:
        """Do one act. Raises ValueError for one that is not possible now."""
        self.focus, self.values, self.found = [], {}, None
        if self.has_crashed and name not in ("find", "recover"):
            raise ValueError(f"{name}: nobody can write after the crash; recover the log first")
        if name == "append":
            self._append(*words)
        elif name == "roll":
            rolled = self.log.roll()
            self._say("A roll" if rolled else "No roll", name=self.log.segments()[-1].name)
        elif name == "find":
            self._find(*words)
        elif name == "crash":
            self._crash(*words)
        else:
            self._recover()

    def _say(self, step: str, **facts: object) -> None:
        self.step = step
        self.told.facts |= facts

    def _append(self, key: str, value: str) -> None:
        message = key.encode(errors="replace") or None, value.encode(errors="replace")
        message_bytes = encoded_bytes(self.log.dialect, *message)
        most = self.log.settings.segment_bytes
        if message_bytes > most:
            raise ValueError(
                f"append: the message has {message_bytes} bytes, more than a segment ({most})"
            )
        before = self.log.segments()[-1]
        (offset,) = self.log.append([message])
        segment = self.log.segments()[-1]
        position = segment.size_bytes - message_bytes
        entries = segment.index.entries()
        has_entry = segment.index.last_position == position > 0
        last = entries[-1 - has_entry].position if len(entries) > has_entry else 0
        self.focus = [ByteRange(segment.log_path.name, position, segment.size_bytes)]
        if has_entry:
            end = len(entries) * ENTRY_SIZE_BYTES
            self.focus.append(ByteRange(segment.index.path.name, end - ENTRY_SIZE_BYTES, end))
        self._say(
            "A message",
            offset=offset,
            position=position,
            message_bytes=message_bytes,
            name=segment.name,
            distance=position - last,
            entry=entry_cell(entries[-1]) if has_entry else None,
            rolled_at=before.size_bytes if segment is not before else None,
        )

    def _find(self, text: str) -> None:
        """Keep the step-through of a search; its last step shows the whole search at once."""
        offset = whole_number(text, "offset", 0, self.log.log_end_offset + 100)
        document = search_document(self.reader, offset)
        drawn = [(one.say, one.state.picture) for one in document.steps if one.state.picture]
        last_of = {picture.title: (say, picture) for say, picture in drawn}
        whole = reduce(stacked, (picture for _, picture in last_of.values()))
        last = document.steps[-1]
        says = dict.fromkeys([*(say for say, _ in last_of.values()), last.say])
        picture = whole._replace(title=document.title)
        last = last._replace(say=" ".join(says), state=last.state._replace(picture=picture))
        self.found = document._replace(steps=(*document.steps[:-1], last))

    def _crash(self, byte: str) -> None:
        segment = self.log.segments()[-1]
        name, log_bytes = segment.log_path.name, segment.size_bytes
        kept_bytes = whole_number(byte, f"crash, byte of {name}", 0, log_bytes)
        os.truncate(segment.log_path, kept_bytes)
        self.has_crashed = True
        data = segment.log_path.read_bytes()
        whole_end = max([0, *message_ends(self.log.dialect, data)])
        if whole_end < kept_bytes:
            self.focus = [ByteRange(name, whole_end, kept_bytes)]
        self.values = {"bytes that are there": kept_bytes, "bytes of whole messages": whole_end}
        rest_bytes = kept_bytes - whole_end
        self._say("A crash", name=name, kept=kept_bytes, log_bytes=log_bytes, rest=rest_bytes)

    def _recover(self) -> None:
        log, point = self.log, self.log.recovery_point
        plan = plan_recovery(self.reader, scan_from=point, recovery_point=point)
        files = [path.name for path in carry_out(plan)]
        self.side_files += files
        self.focus = [ByteRange(name, 0, (log.directory / name).stat().st_size) for name in files]
        self.log = PartitionLog.open(
            log.directory, PARTITION, log.dialect, log.settings, recovery_point=point
        )
        self.has_crashed = False
        cut = plan.cut
        self.values = {
            "decision": (Decision.CUT if cut else Decision.KEEP).value,
            "fault": cut and cut.reason,
            "lost bytes": cut.lost_bytes if cut else 0,
            "rebuilt indexes": len(plan.rebuilt_indexes),
        }
        self._say(
            "Recovery",
            cut=cut and cut.position,
            name=self.log.segments()[-1].name,
            lost=cut.lost_bytes if cut else 0,
            side_file=files[0] if files else None,
            is_rebuilt=bool(plan.rebuilt_indexes),
            log_end=plan.log_end_offset,
        )

    def document(self) -> Document:
        """Return what the last act has to say, and the last segments."""
        if self.found:
            return self.found
        log, reader, recording = self.log, self.reader, self.told.recording
        paths = [
            path
            for segment in reader.segments()[-_SHOWN_SEGMENTS:]
            for path in (segment.index.path, segment.log_path)
        ]
        paths += [log.directory / name for name in self.side_files[-1:]]
        files = [File(path.name, path.read_bytes(), 0, path.stat().st_size) for path in paths]
        fields = [field for file in files for field in _fields_of(file, log.dialect)]
        ends = {file.name: file.size_bytes for file in files}
        picture = files_picture(files, fields, ends, self.focus)
        if picture and not self.has_crashed:
            picture = stacked(Picture("", (_since_the_last_entry(log),)), picture)
        last_segment = reader.segments()[-1].name
        for file in files:
            if file.name.startswith(last_segment):  # the bytes of more would fill the page
                recording.file(file.name, file.data, [f for f in fields if f.file == file.name])
        rows = listed_segments(reader)
        shown = rows[-_SHOWN_ROWS:]
        title = "Segments" if shown == rows else f"Segments, {len(shown)} of {len(rows)}"
        self.told.tell(
            self.step,
            focus=self.focus,
            values={"log end offset": reader.log_end_offset, **self.values},
            tables=[segments_table(title, shown)],
            picture=picture,
        )
        return self.told.document()


def _fields_of(file: File, dialect: Dialect) -> list[Field]:
    if file.name.endswith(INDEX_SUFFIX):
        return index_fields(file.name, file.data)
    if file.name.endswith(LOG_SUFFIX):
        return log_fields(file.name, dialect, file.data)
    return [Field(file.name, 0, len(file.data), UNPARSED, UNPARSED, None)]


def _since_the_last_entry(log: PartitionLog) -> PictureLane:
    """Return a lane with the bytes since the last entry, of those after which the next is due."""
    segment, interval_bytes = log.segments()[-1], log.settings.index_interval_bytes
    position, last = segment.size_bytes, segment.index.last_position
    is_next = is_due(position, last, interval_bytes)
    bar = Bar(0, position - last, str(position - last), "entry here" if is_next else "entry", "due")
    note = "the next message gets an entry" if is_next else "the next message gets no entry"
    end = max(interval_bytes, position - last, 1)
    return PictureLane(f"bytes since the last entry, of {interval_bytes}", 0, end, (bar,), note)


def document(given: Mapping[str, str], acts: Sequence[str]) -> Document:
    """Return what the last of some acts has to say; ValueError for one that is not possible."""
    segment_bytes = whole_number(
        given["segment.bytes"], "segment.bytes", LEAST_SEGMENT_BYTES, MOST_SEGMENT_BYTES
    )
    interval_bytes = whole_number(
        given["index.interval.bytes"], "index.interval.bytes", 0, MOST_SEGMENT_BYTES
    )
    dialect = DIALECTS[given["dialect"]]
    settings = TopicSettings(segment_bytes=segment_bytes, index_interval_bytes=interval_bytes)
    told = Script(
        __file__, "log", STEPS, segment_bytes=segment_bytes, interval_bytes=interval_bytes
    )
    with temporary_log(dialect, settings) as log:
        played = _Played(log, told)
        try:
            for act in acts:
                played.act(*act_words(act))
            return played.document()
        except KMiniLogError as error:
            raise ValueError(str(error).replace(f"{log.directory}/", "")) from error


BENCH = Bench(
    "log",
    "A log",
    (
        BenchField("segment.bytes", "segment.bytes", "200"),
        BenchField("index.interval.bytes", "index.interval.bytes", "60"),
        BenchField("dialect", "Dialect", DOCUMENTED.name, tuple(DIALECTS)),
    ),
    (
        BenchAct(
            "append",
            "Append",
            (BenchField("key", "Key (empty: none)"), BenchField("value", "Value", "apple")),
        ),
        BenchAct("roll", "Roll"),
        BenchAct("find", "Find", (BenchField("offset", "Offset", "0"),)),
        BenchAct("crash", "Crash", (BenchField("byte", "At byte", "20"),)),
        BenchAct("recover", "Recover"),
    ),
    document,
)
