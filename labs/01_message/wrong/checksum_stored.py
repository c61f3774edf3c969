# exercise: 2
# reason: crc-stored


def checksum(message: bytes) -> int:
    return int.from_bytes(message[12:16], "big")
