# exercise: 1
# differs: int.to_bytes instead of struct, and a bytearray on the way.


def header(offset, content):
    data = bytearray(offset.to_bytes(8, "big"))
    data += (4 + len(content)).to_bytes(4, "big")
    return bytes(data)
