# exercise: 11
# reason: last-offset-by-count
from struct import unpack_from


def batch_header(data, position=0):
    fields = unpack_from(">qiibIhiqqqhii", data, position)
    base, length, attributes, count = *fields[:2], fields[5], fields[12]
    return base, base + count - 1, attributes & 7, count, position + 12 + length
