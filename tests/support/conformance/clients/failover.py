"""`addresses topic count`: sends with acks=all, idempotent, and tells where each message is.

It sends for some seconds at least, so that several brokers can crash meanwhile.
"""

import sys
import time
from typing import Any

from confluent_kafka import Producer

addresses, topic, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
producer = Producer(
    {"bootstrap.servers": addresses, "acks": "all", "enable.idempotence": True, "linger.ms": 5}
)


def tell(error: Any, message: Any) -> None:
    assert not error, error
    print(message.partition(), message.offset(), message.value().decode(), flush=True)


for number in range(count):
    producer.produce(topic, f"value {number}", f"k{number % 97}", on_delivery=tell)
    producer.poll(0)
    time.sleep(0.001)
assert not producer.flush()
