# exercise: 10
# reason: zigzag-left-out
def varint(data, position=0):
    unsigned = shift = 0
    while True:
        byte = data[position]
        unsigned |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if byte < 0x80:
            return unsigned, position
