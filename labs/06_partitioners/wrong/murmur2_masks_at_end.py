# exercise: 1
# reason: never-wraps


def murmur2(data: bytes) -> int:
    m = 0x5BD1E995
    h = 0x9747B28C ^ len(data)
    for start in range(0, len(data) & ~3, 4):
        k = int.from_bytes(data[start : start + 4], "little") * m
        k = (k ^ k >> 24) * m
        h = h * m ^ k
    rest = data[len(data) & ~3 :]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m
    h = (h ^ h >> 13) * m
    return (h ^ h >> 15) & 0xFFFFFFFF
