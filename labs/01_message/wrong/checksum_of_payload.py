# exercise: 2
# reason: crc-payload
import zlib


def checksum(message: bytes) -> int:
    key_bytes = max(int.from_bytes(message[18:22], "big", signed=True), 0)
    return zlib.crc32(message[22 + key_bytes + 4 :])
