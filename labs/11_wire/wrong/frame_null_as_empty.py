# exercise: 1
# reason: client-null-as-empty
from struct import pack


def frame(api_key, correlation_id, client_id, body):
    name = b"" if client_id is None else client_id.encode()
    length = len(name)
    request = pack(">hhih", api_key, 0, correlation_id, length) + name + body
    return pack(">i", len(request)) + request
