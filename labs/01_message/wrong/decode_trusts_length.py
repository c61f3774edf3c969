# exercise: 4
# reason: trust-length
import struct
from zlib import crc32

from kminilog.format.message import CorruptMessage, Fault, Message, NeedMoreBytes


def decode(dialect, data, position=0):
    if len(data) - position < 12:
        return NeedMoreBytes(12)
    offset, size = struct.unpack_from(">qi", data, position)
    if 0 <= size < dialect.overhead_bytes:
        return CorruptMessage(Fault.BAD_LENGTH, "size", offset, 12 + size)
    if len(data) - position < 12 + size:
        return NeedMoreBytes(12 + size)
    end = position + 12 + size
    crc, magic, attributes, key_length = struct.unpack_from(">Ibbi", data, position + 12)
    start = position + 22 + max(key_length, 0)
    key = data[position + 22 : start] if key_length >= 0 else None
    length = end - start
    if dialect.has_value_length:
        (length,) = struct.unpack_from(">i", data, start)
        start += 4
    value = data[start : start + length] if length >= 0 else None
    if magic or crc32(data[position + 16 : end]) != crc:
        fault = Fault.BAD_MAGIC if magic else Fault.BAD_CRC
        return CorruptMessage(fault, "", offset, 12 + size)
    return Message(offset, size, crc, magic, attributes, key, value)
