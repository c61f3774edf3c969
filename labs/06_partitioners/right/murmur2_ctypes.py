# exercise: 1
# differs: ctypes cuts to 32 bits, and the tail is a chain of conditions as in Java
from ctypes import c_int32, c_uint32


def murmur2(data):
    def times(number):
        return c_uint32(number * 0x5BD1E995).value

    length = len(data)
    h = 0x9747B28C ^ length
    at = 0
    while length - at >= 4:
        k = data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24
        k = times(k)
        h = times(h) ^ times(k ^ (k >> 24))
        at += 4
    if length - at == 3:
        h ^= data[at + 2] << 16
    if length - at >= 2:
        h ^= data[at + 1] << 8
    if length - at >= 1:
        h = times(h ^ data[at])
    h = times(h ^ h >> 13)
    return c_int32(h ^ h >> 15).value
