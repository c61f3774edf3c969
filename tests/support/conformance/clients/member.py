"""`library address topic group`: reads as a member, commits now and then, tells both."""

import sys
import time

library, address, topic, group = sys.argv[1:]


def tell(what: str, partition: int, offset: int) -> None:
    print(what, partition, offset, time.time_ns(), flush=True)


if library == "confluent-kafka":
    from confluent_kafka import Consumer, KafkaException

    settings = {
        "bootstrap.servers": address,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 500,
    }
    reader = Consumer(settings)
    reader.subscribe([topic])
    got = 0
    while True:
        ends = {}
        for message in reader.consume(50, 0.1):
            if message.error():
                continue
            tell("read", message.partition(), message.offset())
            ends[message.partition()] = message.offset() + 1
            got += 1
        if ends and got % 3:  # so that something is read again
            try:
                reader.commit(asynchronous=False)
            except KafkaException as error:  # others have its partitions by now
                print(error, file=sys.stderr)
                continue
            for partition, end in ends.items():
                tell("committed", partition, end)
else:
    from kafka import KafkaConsumer
    from kafka.errors import KafkaError

    member = KafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=6000,
        heartbeat_interval_ms=500,
        max_poll_records=50,
    )
    got = 0
    while True:
        ends = {}
        for each in member.poll(100).values():
            for one in each:
                tell("read", one.partition, one.offset)
                ends[one.partition] = one.offset + 1
                got += 1
        if ends and got % 3:
            try:
                member.commit()
            except KafkaError as error:
                print(error, file=sys.stderr)
                continue
            for partition, end in ends.items():
                tell("committed", partition, end)
