# exercise: 1
# differs: byte by byte with shifts, and a bytearray as the result.


def big_endian(number, length):
    return bytearray(number >> 8 * place & 0xFF for place in reversed(range(length)))


def header(offset, content):
    return big_endian(offset, 8) + big_endian(len(content) + 4, 4)
