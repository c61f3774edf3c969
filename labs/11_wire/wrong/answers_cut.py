# exercise: 5
# reason: frame-cut-is-answer
def answers(data, waiting):
    found = []
    while data:
        end = 4 + int.from_bytes(data[:4], "big")
        number = int.from_bytes(data[4:8], "big")
        if len(data) >= end and number not in waiting:
            raise ValueError(number)
        found.append((number, data[8:end]))
        data = data[end:]
    return found, data
