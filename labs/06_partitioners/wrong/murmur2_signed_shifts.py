# exercise: 1
# reason: java-shift-signed


def int32(number):
    return (number & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


def murmur2(data: bytes) -> int:
    h = int32(0x9747B28C ^ len(data))
    for i in range(0, len(data) & ~3, 4):
        k = int32(int.from_bytes(data[i : i + 4], "little") * 0x5BD1E995)
        k = int32((k ^ k >> 24) * 0x5BD1E995)
        h = int32(h * 0x5BD1E995) ^ k
    if len(data) & 3:
        h = int32((h ^ int.from_bytes(data[len(data) & ~3 :], "little")) * 0x5BD1E995)
    h = int32((h ^ h >> 13) * 0x5BD1E995)
    return h ^ h >> 15
