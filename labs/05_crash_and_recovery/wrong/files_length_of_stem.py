# exercise: 5
# reason: short-name-is-segment
def leftovers_and_strays(names, *, is_after_crash):
    leftovers, strays = [], []
    for name in sorted(names):
        stem, _, suffix = name.partition(".")
        if len(stem) == 20 and suffix in ("log", "index"):
            if suffix == "index" and f"{stem}.log" not in names:
                leftovers.append(name)
        elif name.endswith(".deleted"):
            if is_after_crash:
                leftovers.append(name)
        elif not name.endswith(".cut"):
            strays.append(name)
    return leftovers, strays
