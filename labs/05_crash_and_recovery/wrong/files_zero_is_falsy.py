# exercise: 5
# reason: zero-is-falsy
from kminilog.format.names import parse_segment_file


def leftovers_and_strays(names, *, is_after_crash):
    logs = {parse_segment_file(n)[0] for n in names if n.endswith(".log") and parse_segment_file(n)}
    leftovers, strays = [], []
    for name in sorted(names):
        base, suffix = parse_segment_file(name) or (None, None)
        if base:
            if suffix == ".index" and base not in logs:
                leftovers.append(name)
        elif name.endswith(".deleted"):
            if is_after_crash:
                leftovers.append(name)
        elif not name.endswith(".cut"):
            strays.append(name)
    return leftovers, strays
