# exercise: 1
# differs: struct reads the words, reduce goes through them
import struct
from functools import reduce

M, MASK = 0x5BD1E995, (1 << 32) - 1


def mixed(h, word):
    k = word * M % (MASK + 1)
    return (h * M ^ (k ^ k >> 24) * M) & MASK


def murmur2(data):
    count, rest = divmod(len(data), 4)
    words = struct.unpack_from(f"<{count}I", data)
    h = reduce(mixed, words, 0x9747B28C ^ len(data))
    if rest:
        h = (h ^ sum(byte << 8 * i for i, byte in enumerate(data[-rest:]))) * M & MASK
    h = (h ^ h >> 13) * M & MASK
    h ^= h >> 15
    return h if h < 1 << 31 else h - (1 << 32)
