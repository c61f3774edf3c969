# exercise: 10
# reason: eight-bits-a-byte
def varint(data, position=0):
    unsigned = shift = 0
    while True:
        byte = data[position]
        unsigned |= (byte & 0x7F) << shift
        position += 1
        shift += 8
        if byte < 0x80:
            return (unsigned >> 1) ^ -(unsigned & 1), position
