# exercise: 10
# differs: the course's own, because the library's has three outcomes: a loop over the bytes
def varint(data, position=0):
    """Return the signed number of the varint at `position`, and the position after its last byte.

    >>> varint(bytes.fromhex("c0 9a 0c"))
    (100000, 3)
    >>> varint(bytes.fromhex("ff 01 0d"), 2)
    (-7, 3)
    """
    unsigned = shift = 0
    while True:
        byte = data[position]
        unsigned |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if byte < 0x80:
            return (unsigned >> 1) ^ -(unsigned & 1), position
