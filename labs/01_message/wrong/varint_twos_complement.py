# exercise: 10
# reason: zigzag-as-twos-complement
def varint(data, position=0):
    unsigned = shift = 0
    while True:
        byte = data[position]
        unsigned |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if byte < 0x80:
            return unsigned - (1 << shift) if byte & 0x40 else unsigned, position
