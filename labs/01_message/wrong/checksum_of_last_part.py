# exercise: 2
# reason: crc-of-last-part
import io
import zlib


def checksum(message: bytes) -> int:
    stream, crc = io.BytesIO(message[16:]), 0
    while part := stream.read(65536):
        crc = zlib.crc32(part)
    return crc
