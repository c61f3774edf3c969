# exercise: 2
# reason: partition-before-topic
from struct import pack


def produce_body(topic, partition, message_set, acks=1):
    name = topic.encode()
    head = pack(">hiiii", acks, 1000, 1, partition, 1)
    return head + pack(">h", len(name)) + name + pack(">i", len(message_set)) + message_set
