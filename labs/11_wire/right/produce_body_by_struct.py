# exercise: 2
# differs: the course's own, because the library's has a table of fields: struct packs all
from struct import pack


def produce_body(topic, partition, message_set, acks=1):
    """Return the body of Produce v0 for one partition; the broker has 1000 ms.

    >>> produce_body("t", 2, b"set").hex(" ", -2)
    '0001 0000 03e8 0000 0001 0001 7400 0000 0100 0000 0200 0000 0373 6574'
    """
    name = topic.encode()
    topics = pack(">hiih", acks, 1000, 1, len(name)) + name
    return topics + pack(">iii", 1, partition, len(message_set)) + message_set
