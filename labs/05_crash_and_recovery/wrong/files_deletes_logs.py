# exercise: 5
# reason: deletes-logs
from kminilog.format.names import parse_segment_file


def leftovers_and_strays(names, *, is_after_crash):
    leftovers, strays = [], []
    for name in sorted(names):
        if parse_segment_file(name):
            other = ".log" if name.endswith(".index") else ".index"
            if name.rpartition(".")[0] + other not in names:
                leftovers.append(name)
        elif name.endswith(".deleted"):
            if is_after_crash:
                leftovers.append(name)
        elif not name.endswith(".cut"):
            strays.append(name)
    return leftovers, strays
