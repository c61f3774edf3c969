# exercise: 5
# reason: first-answer-only
def answers(data, waiting):
    found = []
    if len(data) >= 4:
        end = 4 + int.from_bytes(data[:4], "big")
        if len(data) < end:
            return [], data
        number = int.from_bytes(data[4:8], "big")
        if waiting[len(found) : len(found) + 1] != [number]:
            raise ValueError(f"answer {number}")
        found.append((number, data[8:end]))
        data = data[end:]
    return found, data
