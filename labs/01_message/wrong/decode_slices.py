# exercise: 4
# reason: copies-the-rest
import struct
from zlib import crc32

from kminilog.format.message import CorruptMessage, Fault, Message, NeedMoreBytes


def decode(dialect, data, position=0):
    data = data[position:]
    if len(data) < 12:
        return NeedMoreBytes(12)
    offset, size = struct.unpack_from(">qi", data)
    length = 12 + size
    if size < dialect.overhead_bytes:
        return CorruptMessage(Fault.BAD_LENGTH, "", offset, length)
    if len(data) < length:
        return NeedMoreBytes(length)
    data = data[:length]
    crc, magic, attributes, key_length = struct.unpack_from(">Ibbi", data, 12)
    start = 22 + max(key_length, 0) + (4 if dialect.has_value_length else 0)
    rest = value_length = length - start
    if dialect.has_value_length and rest >= 0:
        (value_length,) = struct.unpack_from(">i", data, start - 4)
    is_valid = key_length >= -1 and rest >= 0 and value_length in (rest, rest or -1)
    fault = Fault.BAD_MAGIC if magic else Fault.BAD_CRC if is_valid else Fault.BAD_LENGTH
    if magic or not is_valid or crc32(data[16:]) != crc:
        return CorruptMessage(fault, "", offset, length)
    key = data[22 : 22 + key_length] if key_length >= 0 else None
    value = data[start:] if value_length >= 0 else None
    return Message(offset, size, crc, magic, attributes, key, value)
