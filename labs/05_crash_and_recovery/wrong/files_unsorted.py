# exercise: 5
# reason: names-unsorted
from kminilog.format.names import parse_segment_file


def leftovers_and_strays(names, *, is_after_crash):
    leftovers, strays = [], []
    for name in names:
        _, suffix = parse_segment_file(name) or (None, None)
        if name.endswith(".deleted"):
            if is_after_crash:
                leftovers.append(name)
        elif suffix == ".index":
            if name.replace(".index", ".log") not in names:
                leftovers.append(name)
        elif suffix != ".log" and not name.endswith(".cut"):
            strays.append(name)
    return leftovers, strays
