"""A line `address topic group count` on stdin: messages out, and back by a group."""

import sys

from kafka import KafkaConsumer, KafkaProducer

address, topic, group, count = sys.stdin.read().split()
producer = KafkaProducer(bootstrap_servers=address)
sent = [
    producer.send(topic, f"value {number}".encode(), f"k{number % 97}".encode())
    for number in range(int(count))
]
producer.flush()
for one in sent:
    one.get()
producer.close()
consumer = KafkaConsumer(
    topic, bootstrap_servers=address, group_id=group, auto_offset_reset="earliest"
)
for got, message in enumerate(consumer, start=1):
    print(message.partition, message.key.decode(), message.value.decode(), sep="\t")
    if got == int(count):
        break
consumer.commit()
consumer.close()
