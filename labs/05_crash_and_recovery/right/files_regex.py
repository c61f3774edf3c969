# exercise: 5
# differs: regular expressions instead of parse_segment_file
import re

SEGMENT = re.compile(r"([0-9]{20})\.(log|index)")


def leftovers_and_strays(names, *, is_after_crash):
    logs = {name[:-4] for name in names if name.endswith(".log")}
    left, stray = set(), set()
    for name in names:
        found = SEGMENT.fullmatch(name)
        if found and found[2] == "index" and found[1] not in logs:
            left.add(name)
        elif re.search(r"\.deleted$", name):
            left |= {name} if is_after_crash else set()
        elif not found and not re.search(r"\.cut$", name):
            stray.add(name)
    return sorted(left), sorted(stray)
