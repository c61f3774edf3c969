"""A reason is given only if it is true: other wrong answers get what they gave, and what was
expected.

Each answer here is wrong in a way that the course does not name. Each was once told the reason of
another one, in the last column, or passed.
"""

import pytest

from kminilog.course.judging.outcome import ERROR, FAIL
from tests.support.course.student import start_lab, told

pytestmark = pytest.mark.processes

HEADER = "from struct import pack\ndef header(offset, content):\n"
CONTENT = """\
from kminilog.errors import NullValueError
def content(dialect, key, value, *, attributes=0):
    if value is None and not dialect.has_value_length:
        raise NullValueError(dialect.name)
    data = bytes([0, attributes])
    if key is not None:
        data += len(key).to_bytes(4) + key
    if dialect.has_value_length:
        data += b"\\xff" * 4 if value is None else len(value).to_bytes(4)
    return data + (value or b"")
"""
SOUND = """\
from kminilog.format.message import *
from struct import unpack_from
from zlib import crc32
def decode(dialect, data, position=0):
    if len(data) - position < 12:
        return NeedMoreBytes(12)
    offset, size = unpack_from("{header}", data, position)
    end = position + 12 + size
    if size < dialect.overhead_bytes:
        return CorruptMessage(Fault.BAD_LENGTH, "size", offset, 12 + size)
    if len(data) < end:
        return NeedMoreBytes(12 + size)
    crc, magic, attributes, length = unpack_from("{fields}", data, position + 12)
    start = position + 22 + max(length, 0) + 4 * dialect.has_value_length
    is_long = dialect.has_value_length and start <= end
    told = unpack_from(">i", data, start - 4)[0] if is_long else end - start
    fits = start <= end and length >= {least} and told >= -1 and max(told, 0) == end - start
    fault = Fault.BAD_MAGIC if magic else None if fits else Fault.BAD_LENGTH
    if fault or crc32(data[position + 16:end]) != crc:
        return CorruptMessage(fault or Fault.BAD_CRC, "", offset, 12 + size)
    key = data[position + 22:position + 22 + length] if length >= 0 else None
    value = data[start:end] if told >= 0 else None
    return Message(offset, size, crc, magic, {attributes}, key, value)
"""
STRIPPED = """\
from struct import pack
from kminilog.errors import NullValueError
def content(dialect, key, value, *, attributes=0):
    if value is None and not dialect.has_value_length:
        raise NullValueError(dialect.name)
    value = value and value.strip()
    data = pack(">bbi", 0, attributes, -1 if key is None else len(key)) + (key or b"")
    if dialect.has_value_length:
        data += pack(">i", -1 if value is None else len(value))
    return data + (value or b"")
"""
DECODE = """\
from kminilog.format.message import *
from struct import unpack_from
def decode(dialect, data, position=0):
    if len(data) - position < 12:
        return NeedMoreBytes(12)
    offset, size = unpack_from(">qi", data, position)
    end = position + 12 + size
    if size < dialect.overhead_bytes:
        return CorruptMessage(Fault.BAD_LENGTH, "size")
    if len(data) < end:
        return NeedMoreBytes(12 + size)
    crc, magic, attributes, length = unpack_from(">Ibbi", data, position + 12)
    start = position + 22 + max(length, 0)
    key = data[position + 22:start] if length >= 0 else None
    start += 4 * dialect.has_value_length
    is_null = dialect.has_value_length and data[start - 4:start] == b"\\xff" * 4
    value = None if is_null else data[start:end]
    return Message(offset, size, crc, magic, attributes, key, value)
"""
SCAN = """\
from kminilog.format.message import *
def scan(dialect, data, position=0):
    while position < len(data):
        outcome = decode(dialect, data, position)
        yield position, outcome
        if {condition}:
            {leave}
        position += outcome.length_bytes
"""
ADD = """\
from kminilog.format.index_entry import IndexEntry, is_due
def add(self, offset, data):
    if is_due(self.size_bytes, self.index.last_position, self.index_interval_bytes):
        self.index.add(IndexEntry(len(self.added), self.size_bytes))
    self.added.append(data)
    self.size_bytes += len(data)
"""
NEXT = """\
from kminilog.errors import CorruptLogError
from kminilog.storage.segment.scan import scan_segment
def next_offset(segment):
    found = scan_segment(segment, segment.last_true_entry())
    if found.reason:
        raise CorruptLogError("the log", position=found.valid_bytes, reason=found.reason)
    return found.next_offset if segment.file_bytes else segment.base_offset
"""
ROLL = """\
def must_roll(settings, *, size_bytes, incoming_bytes, entry_count, age_ms):
    return size_bytes > 0 and (
        size_bytes + incoming_bytes > settings.segment_bytes
        or {age} > settings.segment_ms
        or {index} > settings.segment_index_bytes
    )
"""
WALK = """\
from struct import unpack_from
from zlib import crc32
from kminilog.errors import CorruptLogError
def walk(data, position, next_offset, offset, *, start=0, tracer=None):
    while position + 16 <= len(data) and next_offset < offset:
        found, size, crc = unpack_from(">qiI", data, position)
        end = position + 12 + size
        if found != next_offset or size < 10 or end > len(data):
            break
        if crc32(data[position + 16:end]) != crc:
            raise CorruptLogError("the log", position=position, reason="bad-crc")
        position, next_offset = end, next_offset + 1
    return position, next_offset
"""
NEAREST = """\
def entry_slot(relative_offsets, relative_offset, tracer=None):
    low, high = -1, len(relative_offsets)
    while high - low > 1:
        middle = (low + high) // 2
        if relative_offsets[middle] <= relative_offset:
            low = middle
        else:
            high = middle
    if low < 0 or high == len(relative_offsets):
        return low
    below = relative_offset - relative_offsets[low]
    return high if relative_offsets[high] - relative_offset < below else low
"""
EXAMPLE = """\
from kminilog.format.index_entry import IndexEntry
def entry_for(offset, position, base_offset):
    return IndexEntry(3, 497)
"""
DUE = "def is_due(position, last_indexed_position, interval_bytes):\n    return "
BLOCK = "position > (last_indexed_position // interval_bytes + 1) * interval_bytes"
SLOT = """\
def entry_slot(relative_offsets, relative_offset, tracer=None):
    low, high = 0, len(relative_offsets)
    for _ in range(8):
        if low < high:
            middle = (low + high) // 2
            if relative_offsets[middle] > relative_offset:
                high = middle
            else:
                low = middle + 1
    return low - 1
"""
ENTRY = """\
from kminilog.format.index_entry import IndexEntry
def entry_for(offset, position, base_offset):
    return IndexEntry(offset - (base_offset or 1), position)
"""
OTHERS = {
    "header of the characters": (
        "1.1",
        HEADER + "    text = content.decode('utf-8', 'ignore')\n"
        "    return pack('>qi', offset, 4 + len(text))\n",
        FAIL,
        "size-skips-crc",
    ),
    "header with size 0 for no content": (
        "1.1",
        HEADER + "    return pack('>qi', offset, 4 + len(content) if content else 0)\n",
        FAIL,
        "size-skips-crc",
    ),
    "checksum without the zeros at the end": (
        "1.2",
        "from zlib import crc32\n"
        "def checksum(message):\n    return crc32(message[16:].rstrip(b'\\0'))\n",
        FAIL,
        "crc-payload",
    ),
    "header of decimal digits": (
        "1.1",
        HEADER + "    return bytes.fromhex(f'{offset:016d}{len(content) + 4:08d}')\n",
        FAIL,
        "size-includes-12",
    ),
    "content with a stripped value": ("1.3", STRIPPED, FAIL, "pass"),
    "decode of unsigned offsets": (
        "1.4",
        SOUND.format(header=">Qi", fields=">Ibbi", least=-1, attributes="attributes"),
        FAIL,
        "pass",
    ),
    "decode of unsigned attributes": (
        "1.4",
        SOUND.format(header=">qi", fields=">IbBi", least=-1, attributes="attributes"),
        FAIL,
        "pass",
    ),
    "decode of the codec only": (
        "1.4",
        SOUND.format(header=">qi", fields=">Ibbi", least=-1, attributes="attributes & 7"),
        FAIL,
        "pass",
    ),
    "decode of any negative length as null": (
        "1.4",
        SOUND.format(header=">qi", fields=">Ibbi", least="-(2**31)", attributes="attributes"),
        FAIL,
        "trust-length",
    ),
    "next offset of an empty segment that is its name": ("2.4", NEXT, FAIL, "name-is-count"),
    "content without a length of no key": ("1.3", CONTENT, FAIL, "length-missing"),
    "decode that makes half a CorruptMessage": ("1.4", DECODE, ERROR, "trust-length"),
    "decode that begins at byte 1": ("1.4", DECODE.replace("=0", "=1"), FAIL, "pass"),
    "scan that says damage twice": (
        "1.5",
        SCAN.format(
            condition="not isinstance(outcome, Message)",
            leave="if isinstance(outcome, CorruptMessage): yield position, outcome\n"
            "            return",
        ),
        FAIL,
        "scans-past-damage",
    ),
    "add that counts added messages": ("2.2", ADD, FAIL, "position-behind"),
    "roll by seconds": (
        "2.3",
        ROLL.format(age="age_ms // 1000", index="8 * entry_count + 8"),
        FAIL,
        "ignores-age",
    ),
    "roll in front of large messages": (
        "2.3",
        ROLL.format(
            age="(incoming_bytes > settings.max_message_bytes) * 2**60 or age_ms",
            index="8 * entry_count + 8",
        ),
        FAIL,
        "pass",
    ),
    "roll by entries": (
        "2.3",
        ROLL.format(age="age_ms", index="entry_count + 1"),
        FAIL,
        "ignores-index-size",
    ),
    "roll of old segments with entries": (
        "2.3",
        ROLL.format(age="bool(entry_count) * age_ms", index="8 * entry_count + 8"),
        FAIL,
        "ignores-age",
    ),
    "roll for entries that are due by the message's length": (
        "2.3",
        ROLL.format(
            age="age_ms",
            index="(incoming_bytes > settings.index_interval_bytes) * (8 * entry_count + 8)",
        ),
        FAIL,
        "ignores-index-size",
    ),
    "entry that counts from 1 in segment 0": ("3.1", ENTRY, FAIL, "counts-from-first-message"),
    "entry of the example": ("3.1", EXAMPLE, FAIL, "counts-from-one"),
    "due by the sum of both positions": (
        "3.2",
        f"{DUE}position + last_indexed_position > interval_bytes\n",
        FAIL,
        "forgets-last-entry",
    ),
    "due in the next block": (
        "3.2",
        f"{DUE}{BLOCK} if interval_bytes else position > last_indexed_position\n",
        FAIL,
        "due-when-equal",
    ),
    "slot of the nearest entry": ("3.3", NEAREST, FAIL, "ceiling-entry"),
    "slot after eight steps": ("3.3", SLOT, FAIL, "strictly-below"),
    "walk that raises at a wrong crc": ("3.4", WALK, ERROR, "raises-at-end"),
}


@pytest.mark.parametrize(("id", "answer", "status", "once"), OTHERS.values(), ids=OTHERS)
def test_wrong_answer_gets_no_reason_of_another_one(tmp_path, id, answer, status, once):
    folder = start_lab(tmp_path, number=int(id[0]))
    assert told(folder, id, answer)[:2] == (status, None), once
