# exercise: 10
# differs: calls itself, the rest of the number counts 128 times
def varint(data, position=0):
    def unsigned(at):
        byte = data[at]
        if byte < 128:
            return byte, at + 1
        rest, end = unsigned(at + 1)
        return byte - 128 + 128 * rest, end

    number, end = unsigned(position)
    return (-(number + 1) // 2 if number % 2 else number // 2), end
