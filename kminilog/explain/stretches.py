"""What stands around a byte of a `.log`: messages, and the damage between them.

The scan is that of `verify` and `dump`, from the beginning of the file: only so it is known where
messages begin. Kept is what lies near the byte. Source: ours.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kminilog.format.dialect import Dialect
from kminilog.format.message import Message
from kminilog.format.names import parse_segment_file
from kminilog.storage.files import open_regular
from kminilog.storage.segment.damage_scan import Damage, walk
from kminilog.storage.segment.segment import Segment
from kminilog.text import count

NEAR_BYTES = 2048
"""How much is kept in front of the byte, and after it."""


class Stretch(NamedTuple):
    """Bytes `start` to `end`, exclusive: one valid message, or else damage."""

    start: int
    end: int
    message: Message | None
    damage: Damage | None


class Neighbourhood(NamedTuple):
    """The stretch that holds the byte, those around it, and how many the whole file has."""

    chosen: Stretch | None
    near: tuple[Stretch, ...]
    message_count: int
    damage_count: int
    size_bytes: int


def neighbourhood(path: Path, dialect: Dialect, at: int | None) -> Neighbourhood:
    """Return what stands around byte `at`; by default, around the first damage, else byte 0.

    `chosen` is None for an empty file. O(file). Raises ValueError for a byte past the end, and
    OSError.
    """
    size_bytes = path.stat().st_size
    if at is not None and not 0 <= at < size_bytes:
        raise ValueError(f"{path} has no byte {at}: it has {count(size_bytes, 'byte')}")
    near: list[Stretch] = []
    chosen: Stretch | None = None
    counts = [0, 0]
    base_offset, _ = parse_segment_file(path.name) or (0, "")
    segment = Segment(path.parent, base_offset, dialect, 0)
    segment.log_path = path  # a copy may have any name
    for stretch in stretches(segment):
        counts[stretch.message is None] += 1
        if at is None:
            is_first_damage = stretch.damage is not None and (not chosen or not chosen.damage)
            chosen = stretch if chosen is None or is_first_damage else chosen
        elif stretch.start <= at < stretch.end:
            chosen = stretch
        near.append(stretch)
        if len(near) > 2 * NEAR_BYTES:  # a message has at least 26 bytes
            near = _around(near, chosen or stretch)
    return Neighbourhood(
        chosen, tuple(_around(near, chosen)) if chosen else (), counts[0], counts[1], size_bytes
    )


def _around(stretches: list[Stretch], chosen: Stretch) -> list[Stretch]:
    return [
        one
        for one in stretches
        if one is chosen
        or (chosen.start - NEAR_BYTES <= one.start and one.end <= chosen.end + NEAR_BYTES)
    ]


def stretches(segment: Segment, position: int = 0) -> Iterator[Stretch]:
    """Yield the messages of a segment and the damage between them, as they are asked for.

    They begin at `position`, where a message begins.
    """
    end = segment.file_bytes
    for step in walk(segment, end, position):
        if step.damage:
            damage_end = step.position if step.message else end
            yield Stretch(step.damage.position, damage_end, None, step.damage)
        if step.message:
            yield Stretch(
                step.position, step.position + step.message.length_bytes, step.message, None
            )


def read_range(path: Path, start: int, end: int) -> bytes:
    """Return bytes `start` to `end`, exclusive, of a file; fewer if it ends before. OSError."""
    with open(path, "rb", opener=open_regular) as file:
        file.seek(start)
        return file.read(end - start)
