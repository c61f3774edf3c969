# exercise: 3
# differs: struct.iter_unpack reads all partitions of a topic
import struct


def produced(answer):
    count, rest, found = answer[4:8], answer[8:], []
    for _ in range(int.from_bytes(count)):
        end = 2 + int.from_bytes(rest[:2])
        name, partitions, rest = rest[2:end], int.from_bytes(rest[end : end + 4]), rest[end + 4 :]
        part, rest = rest[: 14 * partitions], rest[14 * partitions :]
        found.extend((str(name, "utf-8"), *one) for one in struct.iter_unpack(">ihq", part))
    return found
