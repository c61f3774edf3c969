# exercise: 10
# reason: varint-of-one-byte
def varint(data, position=0):
    unsigned = data[position] & 0x7F
    return (unsigned >> 1) ^ -(unsigned & 1), position + 1
