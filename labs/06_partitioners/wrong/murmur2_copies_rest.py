# exercise: 1
# reason: copies-the-rest
def murmur2(data):
    length = len(data)
    h = 0x9747B28C ^ length
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    while len(data) >= 4:
        k = int.from_bytes(data[:4], "little")
        k = k * m & mask
        k ^= k >> 24
        k = k * m & mask
        h = h * m & mask
        h ^= k
        data = data[4:]
    tail = data
    if tail:
        h ^= int.from_bytes(tail, "little")
        h = h * m & mask
    h ^= h >> 13
    h = h * m & mask
    h ^= h >> 15
    return h - 2**32 if h >= 2**31 else h
