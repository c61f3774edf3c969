# exercise: 5
# reason: zero-is-falsy
from kminilog.format.names import parse_segment_file


def leftovers_and_strays(names, *, is_after_crash):
    left, strays = [], []
    for name in sorted(names):
        base, suffix = parse_segment_file(name) or (None, None)
        if base and suffix == ".index" and name[:20] + ".log" not in names:
            left.append(name)
        elif suffix:
            continue
        elif name.endswith(".deleted"):
            left += [name] * is_after_crash
        elif not name.endswith(".cut"):
            strays.append(name)
    return left, strays
