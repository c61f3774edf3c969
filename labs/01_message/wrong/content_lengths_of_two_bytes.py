# exercise: 3
# reason: upper-bytes-lost


def length_of(part):
    return b"\xff" * 4 if part is None else bytes(2) + (len(part) % 65536).to_bytes(2, "big")


def content(dialect, key, value, *, attributes=0):
    value_length = length_of(value) if dialect.has_value_length else b""
    front = bytes([0, attributes]) + length_of(key) + (key or b"")
    return front + value_length + (value or b"")
