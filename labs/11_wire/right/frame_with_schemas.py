# exercise: 1
# differs: the library's table of fields encodes the header
from kminilog.wire.schemas import encode


def frame(api_key, correlation_id, client_id, body):
    header = {"api_key": api_key, "correlation_id": correlation_id, "client_id": client_id}
    request = encode("RequestHeader", 0, header) + body
    return len(request).to_bytes(4) + request
