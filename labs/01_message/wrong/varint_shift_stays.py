# exercise: 10
# reason: varint-shift-stays
def varint(data, position=0):
    unsigned, shift = 0, 0
    while data[position] & 0x80:
        unsigned |= (data[position] & 0x7F) << shift
        position += 1
    unsigned |= data[position] << shift
    return (unsigned >> 1) ^ -(unsigned & 1), position + 1
