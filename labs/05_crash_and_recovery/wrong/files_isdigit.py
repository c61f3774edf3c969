# exercise: 5
# reason: short-name-is-segment


def leftovers_and_strays(names, *, is_after_crash):
    left, strays = [], []
    for name in sorted(names):
        stem, _, suffix = name.partition(".")
        is_segment = len(stem) == 20 and stem.isdigit()
        if is_segment and suffix in ("log", "index"):
            if stem + ".log" not in names:
                left.append(name)
        elif name.endswith(".deleted"):
            left += [name] * is_after_crash
        elif not name.endswith(".cut"):
            strays.append(name)
    return left, strays
