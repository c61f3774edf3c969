# exercise: 10
# differs: the bits as text, the last byte in front
def varint(data, position=0):
    end = next(at for at in range(position, len(data)) if not data[at] & 128) + 1
    bits = "".join(f"{byte & 127:07b}" for byte in reversed(data[position:end]))
    half, is_negative = divmod(int(bits, 2), 2)
    return (-half - 1 if is_negative else half), end
