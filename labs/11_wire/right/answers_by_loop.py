# exercise: 5
# differs: the course's own, because the library's broker reads requests: cuts off answer by answer
def answers(data, waiting):
    """Return the answers that are whole in `data`, and the bytes after them.

    An answer is a tuple: correlation id, and what comes after it. `waiting` are the correlation ids
    that were sent, in order. Raises ValueError for an answer that nobody waits for.

    >>> answers(bytes.fromhex("00000006 00000007 abcd 000000"), [7])
    ([(7, b'\\xab\\xcd')], b'\\x00\\x00\\x00')
    """
    found = []
    while len(data) >= 4:
        end = 4 + int.from_bytes(data[:4], "big")
        if len(data) < end:
            break
        number = int.from_bytes(data[4:8], "big")
        if waiting[len(found) : len(found) + 1] != [number]:
            raise ValueError(f"answer {number}")
        found.append((number, data[8:end]))
        data = data[end:]
    return found, data
