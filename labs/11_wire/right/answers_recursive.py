# exercise: 5
# differs: calls itself for the rest
def answers(data, waiting):
    size = int.from_bytes(data[:4])
    if len(data) < 4 or len(data) < size + 4:
        return [], data
    number, body = int.from_bytes(data[4:8]), data[8 : size + 4]
    if not waiting or waiting[0] != number:
        raise ValueError
    others, rest = answers(data[size + 4 :], waiting[1:])
    return [(number, body), *others], rest
