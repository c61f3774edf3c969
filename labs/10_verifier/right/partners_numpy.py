# exercise: 3
# differs: columns of numpy: the number of each copy, and one search for all
import numpy as np


def partners(groups, is_record):
    if not len(groups):
        return []
    group, record = np.asarray(groups), np.asarray(is_record, bool)
    places = np.arange(len(group))
    starts = np.flatnonzero(np.concatenate(([True], np.diff(group) != 0)))
    start = starts[np.searchsorted(starts, places, "right") - 1]
    records_before = np.concatenate(([0], np.cumsum(record)))
    ends = np.concatenate((starts[1:], [len(group)]))
    end = ends[np.searchsorted(starts, places, "right") - 1]
    partner = places + records_before[end] - records_before[start]
    return np.where(record & (partner < end), partner, -1)
