# exercise: 10
# reason: top-bit-counted
def varint(data, position=0):
    unsigned = shift = 0
    while True:
        byte = data[position]
        unsigned |= byte << shift
        position += 1
        shift += 7
        if byte < 0x80:
            return (unsigned >> 1) ^ -(unsigned & 1), position
