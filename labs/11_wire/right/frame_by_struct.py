# exercise: 1
# differs: the course's own, because the library's has a table of fields: struct packs the header
from struct import pack


def frame(api_key, correlation_id, client_id, body):
    """Return a request: its size, the header, and the body. The version is 0.

    `client_id` may be None.

    >>> frame(18, 7, "desk", b"").hex(" ", -2)
    '0000 000e 0012 0000 0000 0007 0004 6465 736b'
    """
    name = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(name)
    request = pack(">hhih", api_key, 0, correlation_id, length) + name + body
    return pack(">i", len(request)) + request
