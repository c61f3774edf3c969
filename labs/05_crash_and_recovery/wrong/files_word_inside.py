# exercise: 5
# reason: strays-unseen
from kminilog.format.names import parse_segment_file


def leftovers_and_strays(names, *, is_after_crash):
    leftovers, strays = [], []
    for name in sorted(names):
        if parse_segment_file(name):
            if name.endswith(".index") and name.removesuffix(".index") + ".log" not in names:
                leftovers.append(name)
        elif ".deleted" in name:
            if is_after_crash:
                leftovers.append(name)
        elif ".cut" not in name:
            strays.append(name)
    return leftovers, strays
