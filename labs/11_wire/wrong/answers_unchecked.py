# exercise: 5
# reason: correlation-unchecked
def answers(data, waiting):
    found = []
    while len(data) >= 4:
        end = 4 + int.from_bytes(data[:4], "big")
        if len(data) < end:
            break
        number = int.from_bytes(data[4:8], "big")
        found.append((number, data[8:end]))
        data = data[end:]
    return found, data
