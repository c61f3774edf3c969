# exercise: 2
# differs: clears the bit in the first of the four bytes
def to_positive(number):
    data = bytearray(number.to_bytes(4, "big", signed=True))
    data[0] &= 127
    return int.from_bytes(data, "big")
