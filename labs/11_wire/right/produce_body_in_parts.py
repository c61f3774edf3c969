# exercise: 2
# differs: small functions for a number, a text and an array
def int32(number):
    return number.to_bytes(4, "big", signed=True)


def array(*elements):
    return int32(len(elements)) + b"".join(elements)


def produce_body(topic, partition, message_set, acks=1):
    text = topic.encode()
    name = len(text).to_bytes(2, "big") + text
    data = int32(partition) + int32(len(message_set)) + message_set
    return acks.to_bytes(2, "big", signed=True) + int32(1000) + array(name + array(data))
