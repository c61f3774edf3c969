"""The third part of a search: the walk through the log, and the message that it finds.

The log is shown from where the walk began; of a long walk, only its end. Source: S1 5.3.2.
"""

from collections.abc import Sequence
from functools import partial

from kminilog.course.steps.document import Field, Range, Value
from kminilog.course.steps.layout import message_fields
from kminilog.course.steps.lookup.search import Search
from kminilog.course.steps.recorded_search import HeaderRead
from kminilog.course.steps.recording import Recording
from kminilog.format.message import CRC_END, SIZE_END
from kminilog.storage.regular_file import open_regular
from kminilog.storage.segment import Segment
from kminilog.text import count, shown_in

_SHOWN_LOG_BYTES = 1 << 12
_SHOWN_AT_EACH_END = 3


def record_walk(recording: Recording, search: Search) -> None:
    """Add the steps from where the walk begins to the message, or to the end."""
    segment, stands = search.segment, search.stands
    _show_log(recording, search, segment, stands)
    name = segment.log_path.name
    passed = stands[:-1] if search.found else stands
    left_out = len(passed) - 2 * _SHOWN_AT_EACH_END
    for number, stand in enumerate(passed):
        offset, size, *_ = stand.fields
        recording.spend(reads=1, bytes=SIZE_END + size)
        if left_out > 1 and _SHOWN_AT_EACH_END <= number < len(passed) - _SHOWN_AT_EACH_END:
            if number == _SHOWN_AT_EACH_END:
                recording.step(
                    f"So the walk passes {left_out} more messages, each by its offset, size and "
                    "checksum.",
                    values={"byte": stand.position, "offset there": offset},
                )
            continue
        header = Range(name, stand.position, stand.position + CRC_END)
        add = partial(_add_log, recording, segment, [stand], CRC_END)
        with recording.shown_alone(header, add) as focus:
            recording.step(
                f"At byte {stand.position} stands offset {offset}, not {search.offset}. Its size "
                f"is {size}: the next message begins {SIZE_END + size} bytes on.",
                focus=focus,
                values={"byte": stand.position, "offset there": offset, "size": size},
            )
    _record_result(recording, search, segment)


def _record_result(recording: Recording, search: Search, segment: Segment) -> None:
    reader = search.reader
    values: dict[str, Value] = {
        "topic": reader.topic_partition.topic,
        "partition": reader.topic_partition.partition,
        "offset": search.offset,
    }
    if search.found is None:
        start, end = reader.log_start_offset, reader.log_end_offset
        recording.step(
            f"Offset {search.offset} is not there. The log begins with offset {start} and ends "
            f"with {end - 1}. A search never gives the next message in its place.",
            values={**values, "segment": None, "log start": start, "log end": end},
        )
        return
    located = search.found.located
    message, position = located.message, located.position
    recording.spend(reads=1, bytes=message.length_bytes)
    recording.step(
        f"Found: offset {message.offset} stands at byte {position}, after "
        f"{count(located.scanned_messages, 'message')} and {located.scanned_bytes} bytes. Its key "
        f"is {shown_in(message.key, 70)}, its value {shown_in(message.value, 70)}.",
        focus=recording.in_view(
            Range(segment.log_path.name, position, position + message.length_bytes)
        ),
        values={
            **values,
            "segment": segment.name,
            "position": position,
            "scanned messages": located.scanned_messages,
            "scanned bytes": located.scanned_bytes,
        },
    )


def _show_log(
    recording: Recording, search: Search, segment: Segment, stands: Sequence[HeaderRead]
) -> None:
    """Show the log from where the walk began; of a long walk, only its end."""
    name = segment.log_path.name
    if recording.has_file(name) or not stands:
        return
    last = stands[-1]
    end = last.position + SIZE_END + last.fields[1]
    first = next(s for s in stands if s is last or end - s.position <= _SHOWN_LOG_BYTES)
    bytes_count = min(end - first.position, _SHOWN_LOG_BYTES)
    _add_log(recording, segment, stands[stands.index(first) :], bytes_count, name)


def _add_log(
    recording: Recording,
    segment: Segment,
    stands: Sequence[HeaderRead],
    bytes_count: int,
    name: str,
) -> None:
    """Add bytes of the log, from the first of some messages on, under a name."""
    first = stands[0]
    with open(segment.log_path, "rb", opener=open_regular) as file:
        size_bytes = file.seek(0, 2)
        file.seek(first.position)
        data = file.read(bytes_count)
    fields: list[Field] = []
    for stand in stands:
        at = stand.position - first.position
        part = data[at : at + SIZE_END + stand.fields[1]]
        fields += message_fields(name, segment.dialect, stand.position, part)
    recording.file(name, data, fields, start=first.position, size_bytes=size_bytes)
