"""What a librdkafka producer sends to librdkafka's mock broker, as the mock broker stores it.

    python mock_broker.py SEED COUNT     for each codec, and once more for a transaction:
        bytes x…                         the record sets, as a Fetch gives them
        record OFFSET TIMESTAMP …        what librdkafka's consumer reads of them, a line each

The producer is idempotent. The mock broker gives offsets, and writes no markers. Fetch is written
by hand, since a client hands out records, and never the bytes.
"""

import random
import socket
import struct
import sys
from collections.abc import Iterator
from typing import Any

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
TOPIC = "orders"
START_MS = 1_700_000_000_000
_FETCH, _VERSION = 1, 4


def main(seed: int, count: int) -> None:
    """Write what is said above to stdout."""
    from confluent_kafka import Producer  # only the process that runs this has it

    for number, codec in enumerate([*CODECS, "zstd"]):
        chance = random.Random(seed + number)
        options = {"transactional.id": "t"} if number == len(CODECS) else {}
        producer = Producer(
            {
                "test.mock.num.brokers": 1,
                "enable.idempotence": True,
                "compression.codec": codec,
                "batch.num.messages": 40,
                "linger.ms": 20,
                **options,
            }
        )
        if options:
            producer.init_transactions()
            producer.begin_transaction()
        produce(producer, chance, count)
        if options:
            producer.commit_transaction()
        (broker,) = producer.list_topics().brokers.values()
        print("bytes", f"x{b''.join(record_sets(broker.host, broker.port, count)).hex()}")
        for line in consumed(f"{broker.host}:{broker.port}", count):
            print(line)


def produce(producer: Any, chance: random.Random, count: int) -> None:
    """Send so many records to partition 0."""
    for _ in range(count):
        producer.produce(
            TOPIC,
            partition=0,
            key=some_bytes(chance),
            value=some_bytes(chance),
            headers=[(f"h{n}", some_bytes(chance)) for n in range(chance.choice([0, 0, 1, 100]))],
            timestamp=START_MS + chance.randrange(10**6),
        )
    assert producer.flush(60) == 0


def some_bytes(chance: random.Random) -> bytes | None:
    """Return a key or a value: null, empty or of some length; half of them compress well."""
    if not chance.randrange(5):
        return None
    length = chance.randrange(60)
    return chance.randbytes(length) if chance.randrange(2) else bytes(length)


def record_sets(host: str, port: int, end: int) -> Iterator[bytes]:
    """Yield what the mock broker has of partition 0, up to the offset `end`; one Fetch each."""
    offset = 0
    with socket.create_connection((host, port), timeout=60) as connection:
        while offset < end:
            found = fetched(connection, offset)
            assert found, f"the mock broker has no record set at offset {offset}"
            yield found
            at = 0
            while at < len(found):
                first, length = struct.unpack_from(">qi", found, at)
                offset = first + struct.unpack_from(">i", found, at + 23)[0] + 1
                at += 12 + length


def fetched(connection: socket.socket, offset: int) -> bytes:
    """Return the answer to one Fetch of version 4."""
    name = struct.pack(">h", len(TOPIC)) + TOPIC.encode()
    partition = struct.pack(">iqi", 0, offset, 1 << 30)
    request = struct.pack(">hhih", _FETCH, _VERSION, 1, -1)  # no client id
    request += struct.pack(">iiiib", -1, 1000, 1, 1 << 30, 0)  # no replica; uncommitted, too
    request += struct.pack(">i", 1) + name + struct.pack(">i", 1) + partition
    connection.sendall(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", received(connection, 4))
    answer = received(connection, size)
    at = 4 + 4 + 4 + len(name) + 4  # correlation id, throttle time, one topic, one partition
    _, error, _, _, aborted = struct.unpack_from(">ihqqi", answer, at)
    assert error == 0, f"Fetch: error {error}"
    at += 26 + 16 * max(aborted, 0)
    (length,) = struct.unpack_from(">i", answer, at)
    return answer[at + 4 : at + 4 + length]


def received(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes."""
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        assert more, "the mock broker has closed the connection"
        data += more
    return data


def consumed(servers: str, count: int) -> Iterator[str]:
    """Yield what librdkafka's consumer reads, in the lines of BatchOracle."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "g", "isolation.level": "read_uncommitted"}
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    for _ in range(count):
        record = consumer.poll(60)
        assert record is not None, "nothing comes any more"
        assert not record.error(), record.error()
        key, value = hexed(record.key()), hexed(record.value())
        headers = "".join(f" {name}={hexed(data)}" for name, data in record.headers() or [])
        yield f"record {record.offset()} {record.timestamp()[1]} ? {key} {value}{headers}"
    consumer.close()


def hexed(data: bytes | None) -> str:
    """Return bytes as BatchOracle writes them."""
    return "null" if data is None else f"x{data.hex()}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
