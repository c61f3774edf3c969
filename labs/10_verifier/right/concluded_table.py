# exercise: 4
# differs: questions first, then a table
def concluded(found, allowed, unchecked):
    is_wrong = not set(found).issubset(allowed)
    is_open = any(one.asked for one in unchecked)
    return {
        (False, False): ("ok", 0),
        (False, True): ("partial", 2),
        (True, False): ("findings", 1),
        (True, True): ("findings", 1),
    }[is_wrong, is_open]
