# exercise: 10
# reason: varint-greatest-first
def varint(data, position=0):
    unsigned = 0
    while True:
        byte = data[position]
        unsigned = unsigned << 7 | byte & 0x7F
        position += 1
        if byte < 0x80:
            return (unsigned >> 1) ^ -(unsigned & 1), position
