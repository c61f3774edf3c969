# exercise: 1
# reason: last-mix-missing
def murmur2(data):
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    for place, byte in reversed(list(enumerate(data[whole:]))):
        h ^= byte << 8 * place & mask
    if data[whole:]:
        h = h * m & mask
    return h - 2**32 if h >> 31 else h
