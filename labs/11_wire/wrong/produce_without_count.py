# exercise: 2
# reason: array-without-count
from struct import pack


def produce_body(topic, partition, message_set, acks=1):
    name = topic.encode()
    topics = pack(">hih", acks, 1000, len(name)) + name
    return topics + pack(">ii", partition, len(message_set)) + message_set
