# exercise: 1
# reason: recursion-for-each
def murmur2(data):
    m, mask = 0x5BD1E995, 0xFFFFFFFF

    def mix(at, h):
        if len(data) - at < 4:
            if at < len(data):
                h = (h ^ int.from_bytes(data[at:], "little")) * m & mask
            return h
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        return mix(at + 4, (h * m ^ (k ^ k >> 24) * m) & mask)

    h = mix(0, 0x9747B28C ^ len(data))
    h = (h ^ h >> 13) * m & mask
    h ^= h >> 15
    return h - 2**32 if h >= 2**31 else h
