# exercise: 2
# reason: set-counts-messages
from struct import pack

from kminilog.format.dialect import KAFKA
from kminilog.format.message import scan


def produce_body(topic, partition, message_set, acks=1):
    name = topic.encode()
    topics = pack(">hiih", acks, 1000, 1, len(name)) + name
    return topics + pack(">iii", 1, partition, len([*scan(KAFKA, message_set)])) + message_set
