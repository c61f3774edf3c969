# exercise: 2
# reason: set-without-length
from struct import pack


def produce_body(topic, partition, message_set, acks=1):
    name = topic.encode()
    topics = pack(">hiih", acks, 1000, 1, len(name)) + name
    return topics + pack(">ii", 1, partition) + message_set
