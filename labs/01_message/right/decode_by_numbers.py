# exercise: 4
# differs: int.from_bytes instead of struct, and one place for all damage.
from zlib import crc32

from kminilog.format.message import CorruptMessage, Fault, Message, NeedMoreBytes


def decode(dialect, data, position=0):
    def number(at, length, signed=True):
        return int.from_bytes(data[at : at + length], "big", signed=signed)

    if position + 12 > len(data):
        return NeedMoreBytes(12)
    offset, size = number(position, 8), number(position + 8, 4)
    end = position + 12 + size
    fault, key_length, value_length = None, number(position + 18, 4), None
    at = position + 22 + max(key_length, 0)
    if size < dialect.overhead_bytes:
        fault = Fault.BAD_LENGTH
    elif end > len(data):
        return NeedMoreBytes(12 + size)
    elif data[position + 16] != 0:
        fault = Fault.BAD_MAGIC
    else:
        if dialect.has_value_length:
            value_length = number(at, 4)
            at += 4
        is_filled = at + max(value_length or 0, 0) == end if dialect.has_value_length else at <= end
        if key_length < -1 or at > end or (value_length or 0) < -1 or not is_filled:
            fault = Fault.BAD_LENGTH
        elif crc32(data[position + 16 : end]) != number(position + 12, 4, signed=False):
            fault = Fault.BAD_CRC
    if fault:
        return CorruptMessage(fault, "", offset, 12 + size)
    key = data[position + 22 : position + 22 + key_length] if key_length >= 0 else None
    value = None if value_length == -1 else data[at:end]
    crc = number(position + 12, 4, signed=False)
    return Message(offset, size, crc, 0, number(position + 17, 1), key, value)
