# exercise: 4
# differs: reads field after field from a stream.
import io
import struct
import zlib

from kminilog.format.message import CorruptMessage, Fault, Message, NeedMoreBytes


def read(form, stream):
    return struct.unpack(form, stream.read(struct.calcsize(form)))


def decode(dialect, data, position=0):
    stream = io.BytesIO(data[position : position + 12])
    if len(stream.getvalue()) < 12:
        return NeedMoreBytes(needed_bytes=12)
    offset, size = read(">qi", stream)
    fault = Fault.BAD_LENGTH
    if size >= dialect.overhead_bytes:
        stream = io.BytesIO(data[position + 12 : position + 12 + size])
        if len(stream.getvalue()) < size:
            return NeedMoreBytes(12 + size)
        crc, magic, attributes, length = read(">Ibbi", stream)
        room = size - dialect.overhead_bytes
        if magic:
            return CorruptMessage(Fault.BAD_MAGIC, f"magic {magic}", offset, 12 + size)
        if -1 <= length <= room:
            key = stream.read(length) if length >= 0 else None
            room -= max(length, 0)
            length = read(">i", stream)[0] if dialect.has_value_length else room
            value = None if length == -1 else stream.read()
            if length >= -1 and len(value or b"") == max(length, 0) == room:
                if zlib.crc32(stream.getvalue()[4:]) == crc:
                    return Message(offset, size, crc, magic, attributes, key, value)
                fault = Fault.BAD_CRC
    return CorruptMessage(fault, "", offset, 12 + size)
