"""A line `address topic group count` on stdin: messages out, and back by a group."""

import sys
from typing import Any

from confluent_kafka import Consumer, Producer

address, topic, group, count = sys.stdin.read().split()
failed: list[Any] = []
producer = Producer({"bootstrap.servers": address})
for number in range(int(count)):
    while True:
        try:
            producer.produce(
                topic,
                f"value {number}",
                f"k{number % 97}",
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
            break
        except BufferError:
            producer.poll(0.1)
producer.flush()
assert not failed, failed[0]
consumer = Consumer(
    {"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest"}
)
consumer.subscribe([topic])
got = 0
while got < int(count):
    for message in consumer.consume(1000, 1):
        assert not message.error(), message.error()
        print(message.partition(), message.key().decode(), message.value().decode(), sep="\t")
        got += 1
consumer.commit(asynchronous=False)
consumer.close()
