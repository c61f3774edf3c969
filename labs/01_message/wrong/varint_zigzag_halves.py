# exercise: 10
# reason: zigzag-by-half
def varint(data, position=0):
    unsigned = shift = 0
    while True:
        byte = data[position]
        unsigned |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if byte < 0x80:
            return -(unsigned >> 1) if unsigned & 1 else unsigned >> 1, position
