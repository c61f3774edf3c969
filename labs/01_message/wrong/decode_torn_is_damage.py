# exercise: 4
# reason: torn-is-damage
import struct

from kminilog.format.message import CorruptMessage, Fault, Message


def decode(dialect, data, position=0):
    try:
        offset, size, crc, magic, attributes, length = struct.unpack_from(">qiIbbi", data, position)
        start, end = position + 22 + max(length, 0), position + 12 + size
        key = data[position + 22 : start] if length >= 0 else None
        if dialect.has_value_length:
            (length,) = struct.unpack_from(">i", data, start)
            start += 4
            value = data[start:end] if length >= 0 else None
        else:
            value = data[start:end]
        if end > len(data):
            raise ValueError("too few bytes")
    except (struct.error, ValueError) as error:
        return CorruptMessage(Fault.BAD_LENGTH, str(error), 0, 0)
    return Message(offset, size, crc, magic, attributes, key, value)
