# exercise: 2
# differs: no library at all, but a table of 256 numbers.


def entry(number):
    for _ in range(8):
        number = number >> 1 ^ (0xEDB88320 if number & 1 else 0)
    return number


TABLE = [entry(number) for number in range(256)]


def checksum(message):
    crc = 0xFFFFFFFF
    for byte in message[16:]:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
