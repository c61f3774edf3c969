# exercise: 4
# reason: crc-before-lengths
import struct
from zlib import crc32

from kminilog.format.message import CorruptMessage, Fault, Message, NeedMoreBytes


def decode(dialect, data, position=0):
    if len(data) - position < 12:
        return NeedMoreBytes(22)
    offset, size = struct.unpack_from(">qi", data, position)
    end = position + 12 + size
    if size < dialect.overhead_bytes:
        return CorruptMessage(Fault.BAD_LENGTH, "size", offset, 12 + size)
    if len(data) < end:
        return NeedMoreBytes(12 + size)
    crc, magic, attributes, key_length = struct.unpack_from(">Ibbi", data, position + 12)
    if magic or crc32(data[position + 16 : end]) != crc:
        fault = Fault.BAD_MAGIC if magic else Fault.BAD_CRC
        return CorruptMessage(fault, "", offset, 12 + size)
    start = position + 22 + max(key_length, 0)
    key = data[position + 22 : start] if key_length >= 0 else None
    if dialect.has_value_length:
        start += 4
        if data[start - 4 : start] == b"\xff" * 4:
            return Message(offset, size, crc, magic, attributes, key, None)
    return Message(offset, size, crc, magic, attributes, key, data[start:end])
