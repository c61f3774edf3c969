# exercise: 1
# reason: frame-counts-its-size
from struct import pack


def frame(api_key, correlation_id, client_id, body):
    name = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(name)
    request = pack(">hhih", api_key, 0, correlation_id, length) + name + body
    return pack(">i", len(request) + 4) + request
