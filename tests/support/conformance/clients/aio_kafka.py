"""A line `address topic group count` on stdin: messages out, and back by a group."""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

address, topic, group, count = sys.stdin.read().split()


async def trip() -> None:
    producer = AIOKafkaProducer(bootstrap_servers=address)
    await producer.start()
    sent = [
        await producer.send(topic, f"value {number}".encode(), f"k{number % 97}".encode())
        for number in range(int(count))
    ]
    await asyncio.gather(*sent)
    await producer.stop()
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=address, group_id=group, auto_offset_reset="earliest"
    )
    await consumer.start()
    for _ in range(int(count)):
        message = await consumer.getone()
        print(message.partition, message.key.decode(), message.value.decode(), sep="\t")
    await consumer.commit()
    await consumer.stop()


asyncio.run(trip())
