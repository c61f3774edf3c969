# exercise: 1
# differs: a bytearray, whose first four bytes are filled in at the end
import struct


def frame(api_key, correlation_id, client_id, body):
    data = bytearray(14)
    struct.pack_into(">hxxi", data, 4, api_key, correlation_id)
    if client_id is not None:
        data += bytes(client_id, "utf-8")
    length = len(data) - 14 if client_id is not None else -1
    struct.pack_into(">h", data, 12, length)
    data += body
    data[:4] = (len(data) - 4).to_bytes(4, "big")
    return bytes(data)
