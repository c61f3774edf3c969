# exercise: 4
# differs: errors carry the outcome out, keys and values are bytearrays, the detail is a number.
import struct
from zlib import crc32

from kminilog.format.message import CorruptMessage, Fault, Message, NeedMoreBytes


def expect(is_true, *outcome):
    if not is_true:
        raise LookupError(*outcome)


def fields(dialect, data):
    expect(len(data) >= 12, NeedMoreBytes(12))
    offset, size = struct.unpack(">qi", data[:12])
    expect(size >= dialect.overhead_bytes, Fault.BAD_LENGTH, size, offset, size + 12)
    expect(len(data) >= size + 12, NeedMoreBytes(size + 12))
    crc, magic, attributes, length = struct.unpack(">Ibbi", data[12:22])
    rest = data[22 : 12 + size]
    expect(magic == 0, Fault.BAD_MAGIC, magic, offset, size + 12)
    place = (offset, size + 12)
    expect(-1 <= length <= size - dialect.overhead_bytes, Fault.BAD_LENGTH, length, *place)
    key, value = (rest[:length], rest[length:]) if length >= 0 else (None, rest)
    if dialect.has_value_length:
        (length,), value = struct.unpack(">i", value[:4]), value[4:]
        expect(length >= -1 and max(length, 0) == len(value), Fault.BAD_LENGTH, length, *place)
        value = None if length == -1 else value
    expect(crc32(data[16 : 12 + size]) == crc, Fault.BAD_CRC, crc, *place)
    return offset, size, crc, magic, attributes, key, value


def decode(dialect, data, position=0):
    try:
        return Message._make(fields(dialect, bytearray(data)[position:]))
    except LookupError as error:
        first, *others = error.args
        return CorruptMessage(first, *others) if others else first
