# exercise: 1
# differs: a slice for each word and one for the rest, as the third hint says
def murmur2(data):
    mask, factor = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * factor & mask
        k = (k ^ k >> 24) * factor & mask
        h = h * factor & mask ^ k
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * factor & mask
    h = (h ^ h >> 13) * factor & mask
    h ^= h >> 15
    return h - 2**32 if h >= 2**31 else h
