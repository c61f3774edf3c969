# exercise: 1
# reason: never-wraps


def murmur2(data: bytes) -> int:
    h = 0x9747B28C ^ len(data)
    for i in range(0, len(data) & ~3, 4):
        k = int.from_bytes(data[i : i + 4], "little") * 0x5BD1E995
        k = (k ^ k >> 24) * 0x5BD1E995
        h = h * 0x5BD1E995 ^ k
    if len(data) & 3:
        h = (h ^ int.from_bytes(data[len(data) & ~3 :], "little")) * 0x5BD1E995
    h = (h ^ h >> 13) * 0x5BD1E995
    h = (h ^ h >> 15) & 0xFFFFFFFF
    return h - 2**32 if h >= 2**31 else h
