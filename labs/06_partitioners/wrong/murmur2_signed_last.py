# exercise: 1
# reason: java-signed-bytes
def murmur2(data):
    length = len(data)
    h = 0x9747B28C ^ length
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    for at in range(0, length - length % 4, 4):
        k = int.from_bytes(data[at : at + 4], "little")
        k = k * m & mask
        k ^= k >> 24
        k = k * m & mask
        h = h * m & mask
        h ^= k
    tail = data[length - length % 4 :]
    if tail:
        h ^= int.from_bytes(tail, "little", signed=True) & mask
        h = h * m & mask
    h ^= h >> 13
    h = h * m & mask
    h ^= h >> 15
    return h - 2**32 if h >= 2**31 else h
