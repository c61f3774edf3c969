# exercise: 5
# differs: one comprehension for each kind of file
from pathlib import PurePath

from kminilog.format.names import parse_segment_file


def leftovers_and_strays(names, *, is_after_crash):
    segments = [name for name in names if parse_segment_file(name)]
    orphans = [
        name
        for name in segments
        if PurePath(name).suffix == ".index"
        and str(PurePath(name).with_suffix(".log")) not in names
    ]
    deleted = [name for name in names if PurePath(name).suffix == ".deleted"]
    cut = [name for name in names if PurePath(name).suffix == ".cut"]
    strays = set(names).difference(segments, deleted, cut)
    return sorted([*orphans, *deleted] if is_after_crash else orphans), sorted(strays)
