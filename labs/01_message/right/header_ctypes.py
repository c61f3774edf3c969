# exercise: 1
# differs: a structure of ctypes instead of struct.
import ctypes


class Header(ctypes.BigEndianStructure):
    _pack_ = 1
    _fields_ = (("offset", ctypes.c_int64), ("size", ctypes.c_int32))


def header(offset: int, content: bytes) -> bytes:
    return bytes(Header(offset=offset, size=ctypes.sizeof(ctypes.c_uint32) + len(content)))
