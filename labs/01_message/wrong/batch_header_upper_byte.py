# exercise: 11
# reason: codec-in-upper-byte
from struct import unpack_from


def batch_header(data, position=0):
    base, length = unpack_from(">qi", data, position)
    codec = data[position + 21] & 7
    (delta,) = unpack_from(">i", data, position + 23)
    (count,) = unpack_from(">i", data, position + 57)
    return base, base + delta, codec, count, position + 12 + length
