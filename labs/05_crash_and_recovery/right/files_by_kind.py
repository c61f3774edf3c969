# exercise: 5
# differs: gives each name a kind first, and groups by it
from collections import defaultdict

from kminilog.format.names import parse_segment_file


def leftovers_and_strays(names, *, is_after_crash):
    def kind(name):
        match parse_segment_file(name):
            case (_, ".index") if name[:-6] + ".log" not in names:
                return "left"
            case (_, _):
                return "keep"
        match name.rsplit(".", 1)[-1] if "." in name else "":
            case "deleted":
                return "left" if is_after_crash else "keep"
            case "cut":
                return "keep"
            case _:
                return "stray"

    groups = defaultdict(list)
    for name in names:
        groups[kind(name)].append(name)
    return sorted(groups["left"]), sorted(groups["stray"])
