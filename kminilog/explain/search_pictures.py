"""Pictures of a search: what is still possible among names and entries, and the walk to scale.

    names              [    [     ]       ]     what the bisection has left of all
    names 2 to 5       [ 2 ][ 3 ][ 4 ][ 5 ]     the same enlarged: what it had before, and the probe

Source: ours.
"""

from collections.abc import Sequence

from kminilog.explain.document import Arrow, Bar, Picture, PictureLane
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, IndexEntry
from kminilog.text import count, numbered

_SHOWN_SLOTS = 24
_SHOWN_DIGITS = 6


def bisection(
    what: str,
    labels: Sequence[str],
    left: range,
    before: range,
    probe: int | None,
    *,
    file: str = "",
) -> list[PictureLane]:
    """Return the lanes of a bisection: all elements, and what the last probe has left of them.

    Of many elements only the probe is shown. `file` is an index whose entries they are: then the
    axes are its bytes.
    """
    size = ENTRY_SIZE_BYTES if file else 1
    style = "entry" if file else "offset"

    def bar(slots: range, label: str, role: str, key: str) -> Bar:
        return Bar(slots.start * size, slots.stop * size, label, role, key)

    is_few = len(before) <= _SHOWN_SLOTS
    rest = bar(left, f"{len(left)} left", style, f"left of {what}")
    bars = [] if is_few else [rest._replace(key=f"left before {what}")]
    for slot in before if is_few else before[:0] if probe is None else [probe]:
        role = "here" if slot == probe else style if slot in left else "seen"
        bars.append(bar(range(slot, slot + 1), labels[slot], role, f"{what} {slot}"))
    note = f"{len(left) or 'none'} of {len(labels)} left{'' if left else ' to compare'}"
    whole = PictureLane(what, 0, len(labels) * size, (rest,), note, file)
    if not before or (not is_few and probe is None):
        return [whole]
    name = f"{what} {before.start} to {before.stop - 1}"
    ends = before.start * size, before.stop * size
    return [whole, PictureLane(name, *ends, tuple(bars), file=file)]


def names_picture(names: Sequence[int], left: range, before: range, probe: int | None) -> Picture:
    """Return the bisection of the names of segments."""
    labels = [str(name)[-_SHOWN_DIGITS:] for name in names]
    return Picture(
        "The names of the segments", tuple(bisection("names", labels, left, before, probe))
    )


def entries_picture(
    index: str,
    log: str,
    entries: Sequence[IndexEntry],
    log_bytes: int,
    left: range,
    before: range,
    probe: int | None,
) -> Picture:
    """Return the bisection of index entries, and which bytes of the log it has left."""
    labels = [str(entry.relative_offset) for entry in entries]
    lanes = bisection("entries", labels, left, before, probe, file=index)
    start = entries[left.start - 1].position if left.start else 0
    end = entries[left.stop].position if left.stop < len(entries) else log_bytes
    start = min(start, log_bytes)  # an index that is wrong may point anywhere
    end = max(start, min(end, log_bytes))
    bar = Bar(start, end, count(end - start, "byte"), "offset", key="left of log")
    lanes.append(PictureLane(log, 0, log_bytes, (bar,), count(log_bytes, "byte"), log))
    return Picture(f"The entries of {index}, and the bytes of the log", tuple(lanes))


def walk_picture(
    log: str, stands: Sequence[tuple[int, int, int]], now: int | None, log_bytes: int
) -> Picture:
    """Return the walk: the whole log, and the messages that the walk passes, each to scale.

    `stands` has the start, end and offset of each; `now` is the number of the one it stands at. Of
    a long walk only the messages around it are shown.
    """
    first = max(0, (len(stands) if now is None else now) - _SHOWN_SLOTS // 2)
    stands = stands[first : first + _SHOWN_SLOTS]
    now = None if now is None else now - first
    start, end = stands[0][0], stands[-1][1]
    bars = tuple(
        Bar(
            first,
            last,
            str(offset)[-_SHOWN_DIGITS:],
            "here" if number == now else "seen" if now is None or number < now else "",
        )
        for number, (first, last, offset) in enumerate(stands)
    )
    passed = Bar(start, end, "", "offset", "passed")
    whole = PictureLane(log, 0, log_bytes, (passed,), count(log_bytes, "byte"), log)
    name = numbered(range(start, end), "byte")
    part = PictureLane(name, start, end, bars, count(end - start, "byte"), log)
    return Picture("The walk", (whole, part), (Arrow(0, start, 1, start), Arrow(0, end, 1, end)))
