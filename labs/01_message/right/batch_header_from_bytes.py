# exercise: 11
# differs: each field by int.from_bytes, at its own place
def batch_header(data, position=0):
    def number(start, size):
        start += position
        return int.from_bytes(data[start : start + size], "big", signed=True)

    first = number(0, 8)
    return (
        first,
        first + number(23, 4),
        data[position + 22] % 8,
        number(57, 4),
        number(8, 4) + position + 12,
    )
