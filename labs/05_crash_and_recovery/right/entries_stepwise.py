# exercise: 4
# differs: int.from_bytes on slices, entry after entry
from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry


def decode_entries(data):
    whole, torn_bytes = divmod(len(data), 8)
    if torn_bytes:
        raise CorruptBytesError(f"{torn_bytes} bytes too many", position=8 * whole)
    found = []
    for start in range(0, len(data), 8):
        relative_offset = int.from_bytes(data[start : start + 4], "big", signed=True)
        position = int.from_bytes(data[start + 4 : start + 8], "big", signed=True)
        if relative_offset < 0 or position < 1:
            raise CorruptBytesError("a number that no entry has", position=start)
        if found and relative_offset <= found[-1].relative_offset:
            raise CorruptBytesError("an offset that does not ascend", position=start)
        if found and position <= found[-1].position:
            raise CorruptBytesError("a position that does not ascend", position=start)
        found.append(IndexEntry(relative_offset, position))
    return found
