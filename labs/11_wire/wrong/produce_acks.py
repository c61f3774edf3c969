# exercise: 2
# reason: acks-of-four-bytes
from struct import pack


def produce_body(topic, partition, message_set, acks=1):
    name = topic.encode()
    topics = pack(">iiih", acks, 1000, 1, len(name)) + name
    return topics + pack(">iii", 1, partition, len(message_set)) + message_set
