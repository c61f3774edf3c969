# exercise: 10
# reason: end-without-position
def varint(data, position=0):
    unsigned = length = 0
    while True:
        byte = data[position + length]
        unsigned |= (byte & 0x7F) << 7 * length
        length += 1
        if byte < 0x80:
            return (unsigned >> 1) ^ -(unsigned & 1), length
