# exercise: 11
# differs: a ctypes structure, big-endian and packed
import ctypes


class Header(ctypes.BigEndianStructure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [
        *[("base", ctypes.c_int64), ("length", ctypes.c_int32), ("skipped", ctypes.c_char * 9)],
        *[("attributes", ctypes.c_int16), ("delta", ctypes.c_int32)],
        *[("more", ctypes.c_char * 30), ("records", ctypes.c_int32)],
    ]


def batch_header(data, position=0):
    found = Header.from_buffer_copy(data, position)
    last = found.base + found.delta
    return found.base, last, found.attributes & 7, found.records, position + 12 + found.length
