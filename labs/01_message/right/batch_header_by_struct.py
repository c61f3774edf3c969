# exercise: 11
# differs: the course's own, because the library's returns all 13 fields: one struct
from struct import unpack_from


def batch_header(data, position=0):
    """Return of the batch at `position`: first offset, last offset, codec, record count, end.

    `end` is the position after the batch. The codec is a number, 0 to 7. The CRC is not checked.
    """
    fields = unpack_from(">qiibIhiqqqhii", data, position)
    base_offset, length, attributes, last_delta, records = *fields[:2], *fields[5:7], fields[12]
    end = position + 12 + length
    return base_offset, base_offset + last_delta, attributes & 7, records, end
