# exercise: 5
# reason: keeps-orphans
from kminilog.format.names import parse_segment_file


def leftovers_and_strays(names, *, is_after_crash):
    leftovers, strays = [], []
    for name in sorted(names):
        base = name.split(".")[0]
        if parse_segment_file(name):
            if name.endswith(".index") and not any(
                each.startswith(base + ".log") for each in names
            ):
                leftovers.append(name)
        elif name.endswith(".deleted"):
            if is_after_crash:
                leftovers.append(name)
        elif not name.endswith(".cut"):
            strays.append(name)
    return leftovers, strays
