"""The way up of a line: found by its offset, read by a consumer of a group, committed.

Each function adds the steps of one part. Source: S1 4 and 5.3; docs/life-of-a-message.md.
"""

from kminilog.course.steps.consumer.journey_questions import what_is_committed, where_reading_begins
from kminilog.course.steps.consumer.travel import GROUP, TOPIC, Travel
from kminilog.course.steps.consumer.way_down import SHOWN_BYTES
from kminilog.course.steps.document import Range, Table, Value
from kminilog.course.steps.recording import Recording
from kminilog.storage.lookup import ENTRIES, NAMES
from kminilog.text import count, shown

_SHOWN_RECORDS = 6


def tell_search(recording: Recording, travel: Travel) -> None:
    """Tell how the message is found by its offset."""
    segment, located = travel.found
    offset, trace, entry = travel.place.offset, travel.trace, located.index_entry
    recording.spend(probes=len(trace.probes(NAMES)))
    recording.step(
        f"Somebody asks {TOPIC}-{travel.place.partition} for offset {offset}. The names of the "
        f"files say which segment may hold it: {segment.name}.",
        values={"offset": offset, "segment": segment.name},
    )
    probes = tuple((probe.slot, probe.value) for probe in trace.probes(ENTRIES))
    recording.spend(probes=len(probes))
    begin = entry.position if entry else 0
    said = f"No entry is low enough: reading begins at byte {begin}."
    if entry:
        said = (
            f"The nearest one that is not above: offset {segment.base_offset} + "
            f"{entry.relative_offset} begins at byte {entry.position}."
        )
    recording.step(
        f"A binary search in the index, for {offset} − {segment.base_offset} = "
        f"{offset - segment.base_offset}. {said}",
        ask=where_reading_begins(entry, located.position),
        values={"segment": segment.name, "start": begin},
        tables=[Table("entries probed", ("slot", "relative offset"), probes)],
    )
    _tell_walk(recording, travel)


def _tell_walk(recording: Recording, travel: Travel) -> None:
    segment, located = travel.found
    # A header is read again if the bytes at hand ended inside its message.
    stands = tuple({read.position: read.fields[0] for read in travel.trace.header_reads}.items())
    end = located.position + located.message.length_bytes
    recording.spend(reads=1, bytes=located.scanned_bytes)
    recording.step(
        f"From there the .log is read message by message, until offset {travel.place.offset} is "
        f"there: at byte {located.position}.",
        focus=[Range(segment.log_path.name, located.position, end)],
        values=_found_values(travel),
        tables=[Table("the walk", ("byte", "offset there"), stands, (len(stands) - 1,))],
    )


def tell_consumer(recording: Recording, travel: Travel) -> None:
    """Tell how a group's consumer reads it; the last step has the result."""
    place, located = travel.place, travel.found.located
    share = ", ".join(map(str, travel.share))
    recording.step(
        f"A consumer joins the group {GROUP}. It is alone there, so it gets all partitions. The "
        "group has no committed offsets yet, so it begins with the first messages "
        "(auto.offset.reset = earliest).",
        values={"group": GROUP, "share": share},
    )
    mine = [one for one in travel.polled if one.partition == place.partition]
    rows = tuple(
        (one.offset, shown(one.key, SHOWN_BYTES), shown(one.value, SHOWN_BYTES))
        for one in mine[-_SHOWN_RECORDS:]
    )
    title = f"the last records of {TOPIC}-{place.partition}"
    recording.step(
        f"poll returns {count(len(travel.polled), 'record')}, partition by partition. In each "
        "partition they are in the order of their offsets; between partitions there is no order.",
        values={"records": len(travel.polled), "next offset": travel.position},
        tables=[Table(title, ("offset", "key", "value"), rows, (len(rows) - 1,))],
    )
    recording.step(
        "The consumer commits its position in each partition: the offset of the next record to "
        f"read. Whoever reads {TOPIC}-{place.partition} for this group later begins there.",
        ask=what_is_committed(place.offset, travel.committed, len(travel.polled), located.position),
        values={
            "topic": place.topic,
            "partition": place.partition,
            "offset": place.offset,
            **_found_values(travel),
            "committed offset": travel.committed,
        },
    )


def _found_values(travel: Travel) -> dict[str, Value]:
    position, message, *_ = travel.found.located
    return {
        "position": position,
        "key": shown(message.key, SHOWN_BYTES),
        "value": shown(message.value, SHOWN_BYTES),
    }
