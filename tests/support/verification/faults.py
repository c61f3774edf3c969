"""Faults put into the files of one partition, and the findings that each should have.

Nothing of kminilog is imported here, as in damage.py. A fault is a function of a `Spot`, one
message of one segment; it changes the files and returns the findings to expect, or None if this
spot cannot have it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.support.damage import (
    cut_to,
    encode_entries,
    fix_crc,
    flip_byte,
    index_entries,
    message_positions,
    offsets_in,
    zero_range,
)


class Expected(NamedTuple):
    """A finding: its class, the 20 digits of its segment, offset, position."""

    kind: str
    segment: str | None
    offset: int | None
    position: int | None


@dataclass
class Spot:
    """Message number `slot` of segment number `segment`, both counted from 0."""

    directory: Path
    segment: int
    slot: int

    def __post_init__(self) -> None:
        self.logs = sorted(self.directory.glob("*.log"))
        self.log = self.logs[self.segment]
        self.index = self.log.with_suffix(".index")
        self.data = self.log.read_bytes()
        self.positions = message_positions(self.data)
        self.offsets = offsets_in(self.data)
        self.slot %= len(self.offsets)
        self.position, self.end = self.positions[self.slot : self.slot + 2]
        self.offset = self.offsets[self.slot]
        self.is_last_in_segment = self.slot == len(self.offsets) - 1
        self.is_in_last_segment = self.segment == len(self.logs) - 1
        self.is_very_last = self.is_last_in_segment and self.is_in_last_segment

    def message(self, slot: int) -> bytes:
        return self.data[self.positions[slot] : self.positions[slot + 1]]

    def replace(self, start: int, end: int, data: bytes) -> None:
        self.log.write_bytes(self.data[:start] + data + self.data[end:])

    def here(self, kind: str) -> list[Expected]:
        return [Expected(kind, self.log.stem, self.offset, self.position)]

    def at_next(self, kind: str) -> list[Expected]:
        """What is found at the next message, if this one is taken out."""
        if self.is_last_in_segment:
            return [Expected(kind, self.logs[self.segment + 1].stem, self.offset + 1, 0)]
        return [Expected(kind, self.log.stem, self.offset + 1, self.position)]

    def entry_of(self, offset: int) -> tuple[int, int] | None:
        for relative, position in index_entries(self.index.read_bytes()):
            if int(self.log.stem) + relative == offset:
                return relative, position
        return None


Fault = Callable[[Spot], list[Expected] | None]


# ---- one message


def flip(at: int, mask: int, kind: str) -> Fault:
    """Change bits of a byte that is `at` bytes into the message; from its end if negative."""

    def fault(spot: Spot) -> list[Expected] | None:
        start = spot.position if at >= 0 else spot.end
        flip_byte(spot.log, start + at, mask=mask)
        return spot.here(kind)

    return fault


def alter_offset(byte: int, mask: int) -> Fault:
    def fault(spot: Spot) -> list[Expected] | None:
        flip_byte(spot.log, spot.position + byte, mask=mask)
        if not spot.is_very_last:
            return spot.here("offset-disorder")
        # No message after it bears witness: it looks like a gap, or like a copy.
        altered = int.from_bytes(spot.log.read_bytes()[spot.position :][:8], signed=True)
        kind = "offset-gap" if altered > spot.offset else "offset-overlap"
        return [Expected(kind, spot.log.stem, altered, spot.position)]

    return fault


def zero_message(spot: Spot) -> list[Expected]:
    zero_range(spot.log, spot.position, spot.end)
    return spot.here("bad-length")


def alter_value_and_mend_crc(spot: Spot) -> list[Expected]:
    flip_byte(spot.log, spot.end - 1, mask=0x01)
    fix_crc(spot.log, spot.position)
    return []  # only a source can tell


def drop(spot: Spot) -> list[Expected] | None:
    if spot.is_very_last:
        return None  # nothing tells of it, unless the index does
    spot.replace(spot.position, spot.end, b"")
    return spot.at_next("offset-gap")


def write_again(copies: int) -> Fault:
    def fault(spot: Spot) -> list[Expected]:
        message = spot.message(spot.slot)
        spot.replace(spot.end, spot.end, message * copies)
        return [
            Expected("offset-overlap", spot.log.stem, spot.offset, spot.end + n * len(message))
            for n in range(copies)
        ]

    return fault


def write_earlier_one_again(spot: Spot) -> list[Expected] | None:
    if spot.slot < 3:
        return None
    spot.replace(spot.end, spot.end, spot.message(spot.slot - 3))
    return [Expected("offset-overlap", spot.log.stem, spot.offset - 3, spot.end)]


def swap_with_next(spot: Spot) -> list[Expected] | None:
    if spot.is_last_in_segment:
        return None
    following = spot.message(spot.slot + 1)
    both = following + spot.message(spot.slot)
    spot.replace(spot.position, spot.position + len(both), both)
    return spot.here("offset-disorder")


def swap_with_first_of_next_segment(spot: Spot) -> list[Expected] | None:
    if not spot.is_last_in_segment or spot.is_in_last_segment:
        return None
    following = Spot(spot.directory, spot.segment + 1, 0)
    spot.replace(spot.position, spot.end, following.message(0))
    following.replace(0, following.end, spot.message(spot.slot))
    return spot.here("offset-disorder")


def swap_with_third_next(spot: Spot) -> list[Expected] | None:
    if spot.slot + 4 >= len(spot.offsets):
        return None
    messages = [spot.message(spot.slot + n) for n in range(4)]
    swapped = messages[3] + messages[1] + messages[2] + messages[0]
    spot.replace(spot.position, spot.position + len(swapped), swapped)
    second = spot.position + len(swapped) - len(messages[0])
    return [
        *spot.here("offset-disorder"),
        Expected("offset-disorder", spot.log.stem, spot.offset + 3, second),
    ]


def insert_rubbish(spot: Spot) -> list[Expected]:
    spot.replace(spot.position, spot.position, bytes(40))
    return spot.here("bad-length")


def cut_inside(spot: Spot) -> list[Expected] | None:
    """Cut the file in the middle of its last message."""
    if not spot.is_last_in_segment:
        return None
    cut_to(spot.log, (spot.position + spot.end) // 2)
    return spot.here("torn-tail" if spot.is_in_last_segment else "bad-length")


def cut_between(spot: Spot) -> list[Expected] | None:
    """Cut the file in front of a message; those after it are gone."""
    if spot.is_in_last_segment:
        return None
    cut_to(spot.log, spot.position)
    following = Spot(spot.directory, spot.segment + 1, 0)
    return [Expected("offset-gap", following.log.stem, following.offset, 0)]


MESSAGE_FAULTS: dict[str, Fault] = {
    **{f"offset byte {n}": alter_offset(n, 0x20) for n in range(8)},
    **{f"offset bit {n}": alter_offset(7, 1 << n) for n in range(8)},
    **{f"size byte {n}": flip(n, 0x01, "bad-length") for n in range(8, 12)},
    **{f"size bit {n}": flip(11, 1 << n, "bad-length") for n in range(8)},
    "size sign": flip(8, 0x80, "bad-length"),
    **{f"crc byte {n}": flip(n, 0x10, "bad-crc") for n in range(12, 16)},
    "magic": flip(16, 0x01, "bad-magic"),
    "attributes": flip(17, 0x01, "bad-crc"),
    "key length": flip(18, 0x40, "bad-length"),
    "last byte of the value": flip(-1, 0x01, "bad-crc"),
    "zeros": zero_message,
    "value altered, crc mended": alter_value_and_mend_crc,
    "dropped": drop,
    "written twice": write_again(1),
    "written three times": write_again(2),
    "earlier one written again": write_earlier_one_again,
    "swapped with the next": swap_with_next,
    "swapped across segments": swap_with_first_of_next_segment,
    "swapped with the third next": swap_with_third_next,
    "rubbish in front": insert_rubbish,
    "cut inside": cut_inside,
    "cut between": cut_between,
}


# ---- the index


class Slots:
    """The entries of a segment's index, to be changed and written back."""

    def __init__(self, spot: Spot, slot: int) -> None:
        self.spot = spot
        self.entries = index_entries(spot.index.read_bytes())
        self.slot = slot % len(self.entries)
        self.base = int(spot.log.stem)

    def write(self) -> None:
        self.spot.index.write_bytes(encode_entries(self.entries))

    def finding(self, kind: str, slot: int | None = None) -> list[Expected]:
        at = self.slot if slot is None else slot
        offset = self.base + self.entries[at][0]
        return [Expected(kind, self.spot.log.stem, offset, 8 * at)]


IndexFault = Callable[[Slots], list[Expected] | None]


def change_entry(relative_by: int, position_by: int, kind: str) -> IndexFault:
    def fault(slots: Slots) -> list[Expected]:
        relative, position = slots.entries[slots.slot]
        slots.entries[slots.slot] = (relative + relative_by, position + position_by)
        slots.write()
        return slots.finding(kind)

    return fault


def zero_entry(slots: Slots) -> list[Expected]:
    slots.entries[slots.slot] = (0, 0)
    slots.write()
    return slots.finding("index-order")


def zero_from_entry_on(slots: Slots) -> list[Expected]:
    for slot in range(slots.slot, len(slots.entries)):
        slots.entries[slot] = (0, 0)
    slots.write()
    return slots.finding("index-order")


def add_zeros(slots: Slots) -> list[Expected]:
    slots.entries += [(0, 0)] * 50
    slots.write()
    return slots.finding("index-order", len(slots.entries) - 50)


def swap_entries(slots: Slots) -> list[Expected] | None:
    if slots.slot == 0:
        return None
    before, here = slots.entries[slots.slot - 1 : slots.slot + 1]
    slots.entries[slots.slot - 1 : slots.slot + 1] = [here, before]
    slots.write()
    return slots.finding("index-order")


def repeat_entry(slots: Slots) -> list[Expected]:
    slots.entries.insert(slots.slot, slots.entries[slots.slot])
    slots.write()
    return slots.finding("index-order", slots.slot + 1)


def remove_entry(slots: Slots) -> list[Expected]:
    relative, position = slots.entries.pop(slots.slot)
    slots.write()
    return [Expected("index-sparse", slots.spot.log.stem, slots.base + relative, position)]


def cut_before_entry(slots: Slots) -> list[Expected]:
    relative, position = slots.entries[slots.slot]
    cut_to(slots.spot.index, 8 * slots.slot)
    return [Expected("index-sparse", slots.spot.log.stem, slots.base + relative, position)]


def cut_inside_entry(slots: Slots) -> list[Expected]:
    cut_to(slots.spot.index, 8 * slots.slot + 5)
    return [Expected("index-order", slots.spot.log.stem, None, 8 * slots.slot)]


def delete_index(slots: Slots) -> list[Expected]:
    slots.spot.index.unlink()
    return [Expected("index-sparse", slots.spot.log.stem, None, None)]


INDEX_FAULTS: dict[str, IndexFault] = {
    "position + 1": change_entry(0, 1, "index-position"),
    "position - 1": change_entry(0, -1, "index-position"),
    "position far after": change_entry(0, 1 << 20, "index-past-end"),
    "position negative": change_entry(0, -(1 << 30), "index-order"),
    "offset + 1": change_entry(1, 0, "index-position"),
    "offset + 100,000": change_entry(100_000, 0, "index-position"),
    "offset negative": change_entry(-(1 << 20), 0, "index-order"),
    "zeroed": zero_entry,
    "zeroed from here on": zero_from_entry_on,
    "zeros after": add_zeros,
    "swapped with the one before": swap_entries,
    "there twice": repeat_entry,
    "removed": remove_entry,
    "cut in front": cut_before_entry,
    "cut inside": cut_inside_entry,
    "deleted": delete_index,
}


# ---- files


def rename(by: int) -> Fault:
    """Name the pair by another number; messages and entries stay as they are."""

    def fault(spot: Spot) -> list[Expected] | None:
        new = f"{int(spot.log.stem) + by:020d}"
        if int(new) < 0 or (spot.directory / f"{new}.log").exists():
            return None
        # Entries are relative to the number in the name, which the fault leaves wrong.
        os.rename(spot.index, spot.directory / f"{new}.index")
        os.rename(spot.log, spot.directory / f"{new}.log")
        return [Expected("name-base-mismatch", new, spot.offsets[0], 0)]

    return fault


def delete_segment(spot: Spot) -> list[Expected] | None:
    spot.log.unlink()
    spot.index.unlink()
    if spot.segment == 0 or spot.is_in_last_segment:
        return []  # as if retention had deleted it; as if it had never been
    following = spot.logs[spot.segment + 1]
    return [Expected("offset-gap", following.stem, spot.offsets[-1] + 1, 0)]


def empty_log(spot: Spot) -> list[Expected] | None:
    if spot.is_in_last_segment:
        return None
    cut_to(spot.log, 0)
    following = spot.logs[spot.segment + 1]
    return [Expected("offset-gap", following.stem, spot.offsets[-1] + 1, 0)]


def copy_second_half(spot: Spot) -> list[Expected] | None:
    """Put a segment beside another one that holds some of its messages too, named rightly."""
    slot = len(spot.offsets) // 2
    is_named_by_previous = spot.segment > 0 and int(spot.log.stem) != spot.offsets[0]
    is_named_by_previous = (
        is_named_by_previous or int(spot.logs[1].stem) < (offsets_in(spot.logs[1].read_bytes())[0])
    )
    name = f"{spot.offsets[slot] - is_named_by_previous:020d}"
    (spot.directory / f"{name}.log").write_bytes(spot.data[spot.positions[slot] :])
    entries = [
        (relative + int(spot.log.stem) - int(name), position - spot.positions[slot])
        for relative, position in index_entries(spot.index.read_bytes())
        if position > spot.positions[slot]
    ]
    (spot.directory / f"{name}.index").write_bytes(encode_entries(entries))
    return [Expected("offset-overlap", name, spot.offsets[slot], 0)]


def copy_whole(spot: Spot) -> list[Expected] | None:
    """Put a copy of a whole segment beside it under the name of its next offset."""
    name = f"{int(spot.log.stem) + 2:020d}"
    (spot.directory / f"{name}.log").write_bytes(spot.data)
    (spot.directory / f"{name}.index").write_bytes(spot.index.read_bytes())
    return [Expected("offset-overlap", name, spot.offsets[0], 0)]


def orphan_index(spot: Spot) -> list[Expected]:
    (spot.directory / f"{10**9:020d}.index").write_bytes(b"")
    return [Expected("orphan-file", f"{10**9:020d}", None, None)]


def stray_file(spot: Spot) -> list[Expected]:
    (spot.directory / "notes.txt").write_bytes(b"remember")
    return [Expected("orphan-file", None, None, None)]


FILE_FAULTS: dict[str, Fault] = {
    "renamed + 1": rename(1),
    "renamed - 1": rename(-1),
    "renamed + 5": rename(5),
    "renamed after all": rename(10**9),
    "deleted": delete_segment,
    "emptied": empty_log,
    "second half copied": copy_second_half,
    "copied": copy_whole,
    "index without a log": orphan_index,
    "stray file": stray_file,
}
