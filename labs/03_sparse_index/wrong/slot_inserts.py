# exercise: 3
# reason: changes-entries
from bisect import insort

from kminilog.storage.segment.lookup import UNTRACED


def entry_slot(relative_offsets, relative_offset, tracer=UNTRACED):
    insort(relative_offsets, relative_offset)
    return relative_offsets.index(relative_offset) - 1
