# exercise: 5
# reason: keeps-deleted
from kminilog.format.names import parse_segment_file


def leftovers_and_strays(names, *, is_after_crash):
    leftovers, strays = [], []
    for name in sorted(names):
        if parse_segment_file(name):
            if name.endswith(".index") and name.replace(".index", ".log") not in names:
                leftovers.append(name)
        elif not name.endswith((".cut", ".deleted")):
            strays.append(name)
    return leftovers, strays
