# exercise: 11
# reason: batch-without-12
from struct import unpack_from


def batch_header(data, position=0):
    fields = unpack_from(">qiibIhiqqqhii", data, position)
    base, length, attributes, delta = *fields[:2], *fields[5:7]
    return base, base + delta, attributes & 7, fields[12], position + length
