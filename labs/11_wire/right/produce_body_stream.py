# exercise: 2
# differs: written into a stream, from the last field to the first
from io import BytesIO


def produce_body(topic, partition, message_set, acks=1):
    stream = BytesIO()
    for part in (
        (acks & 0xFFFF).to_bytes(2),
        (1000).to_bytes(4),
        b"\0\0\0\1",
        len(topic.encode()).to_bytes(2),
        topic.encode(),
        b"\0\0\0\1",
        partition.to_bytes(4),
        len(message_set).to_bytes(4),
        message_set,
    ):
        stream.write(part)
    return stream.getvalue()
