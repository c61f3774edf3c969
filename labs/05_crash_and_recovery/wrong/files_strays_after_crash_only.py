# exercise: 5
# reason: strays-unseen
from kminilog.format.names import parse_segment_file


def leftovers_and_strays(names, *, is_after_crash):
    leftovers, strays = [], []
    for name in sorted(names):
        if parse_segment_file(name):
            if name.endswith(".index") and name.removesuffix(".index") + ".log" not in names:
                leftovers.append(name)
        elif not is_after_crash:
            continue
        elif name.endswith(".deleted"):
            leftovers.append(name)
        elif not name.endswith(".cut"):
            strays.append(name)
    return leftovers, strays
