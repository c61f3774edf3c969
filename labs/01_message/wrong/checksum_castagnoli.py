# exercise: 2
# reason: crc-castagnoli


def checksum(message: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in message[16:]:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
