# exercise: 5
# reason: suffix-without-dot
from kminilog.format.names import parse_segment_file


def leftovers_and_strays(names, *, is_after_crash):
    left, strays = [], []
    for name in sorted(names):
        if parsed := parse_segment_file(name):
            if parsed[1] == ".index" and name[:20] + ".log" not in names:
                left.append(name)
        elif name.endswith("deleted"):
            left += [name] * is_after_crash
        elif not name.endswith("cut"):
            strays.append(name)
    return left, strays
