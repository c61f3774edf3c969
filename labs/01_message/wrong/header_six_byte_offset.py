# exercise: 1
# reason: upper-bytes-lost


def header(offset: int, content: bytes) -> bytes:
    digits = f"{offset:012x}"[-12:]
    return bytes(2) + bytes.fromhex(digits) + (4 + len(content)).to_bytes(4, "big")
