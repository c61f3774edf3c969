# exercise: 1
# differs: each number becomes bytes by itself
def frame(api_key, correlation_id, client_id, body):
    head = [api_key.to_bytes(2), bytes(2), correlation_id.to_bytes(4)]
    if client_id is None:
        head.append(b"\xff\xff")
    else:
        text = client_id.encode("utf-8")
        head += [len(text).to_bytes(2), text]
    size = sum(map(len, head)) + len(body)
    return b"".join([size.to_bytes(4), *head, body])
