"""Plays kcat's part on docs/serve.md where there is no kcat: the same requests, that leave the same
files. `make conformance` runs the page with kcat itself.

    python -m tests.support.docs.kcat_stand_in -P|-C|-G … , with the options that the page has
"""

import argparse
import socket
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from kminilog.format.dialect import KAFKA
from kminilog.format.hashing import murmur2, to_positive
from kminilog.format.message import Message, encode, scan
from kminilog.wire.schemas import APIS, Value
from kminilog.wire.schemas import decode as decode_answer
from kminilog.wire.schemas import encode as encode_request

API_OF_NAME = {api.name: api for api in APIS.values()}
TIMEOUT_MS = 10_000


class Connection:
    """A connection to a broker, which answers one request after the other."""

    def __init__(self, host: str, port: int, client_id: str = "rdkafka") -> None:
        self._socket = socket.create_connection((host, port))
        self._client_id = client_id
        self._numbers = count()

    def ask(self, name: str, version: int, **request: object) -> Value:
        """Send a request, and return the answer."""
        number = next(self._numbers)
        header = {
            "api_key": API_OF_NAME[name].key,
            "api_version": version,
            "correlation_id": number,
            "client_id": self._client_id,
        }
        frame = encode_request("RequestHeader", 0, header)
        frame += encode_request(f"{name}Request", version, request)
        self._socket.sendall(len(frame).to_bytes(4) + frame)
        answer = self._exactly(int.from_bytes(self._exactly(4)))
        assert int.from_bytes(answer[:4]) == number
        found, end = decode_answer(f"{name}Response", version, answer, 4)
        assert end == len(answer)
        return found

    def _exactly(self, length: int) -> bytes:
        data = self._socket.recv(length, socket.MSG_WAITALL)
        assert len(data) == length, "the broker has closed the connection"
        return data

    def partitions(self, topic: str) -> range:
        """Return the partitions of a topic."""
        (found,) = self.ask("Metadata", 4, topics=[topic])["topics"]
        return range(len(found["partitions"]))

    def produce(self, topic: str, partition: int, records: bytes) -> Value:
        """Send a record set; return the answer for it."""
        data = [{"name": topic, "partition_data": [{"index": partition, "records": records}]}]
        asked = self.ask(
            "Produce",
            7,
            transactional_id=None,
            acks=-1,
            timeout_ms=TIMEOUT_MS,
            topic_data=data,
        )
        answer: Value = asked["responses"][0]["partition_responses"][0]
        return answer

    def fetch(self, topic: str, partition: int, offset: int = 0) -> bytes:
        """Return what a partition has from an offset on."""
        one = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        topics = [{"topic": topic, "partitions": [one]}]
        asked = self.ask("Fetch", 6, min_bytes=1, max_bytes=1 << 20, topics=topics)
        records: bytes = asked["responses"][0]["partitions"][0]["records"]
        return records

    def join(self, group: str, topic: str) -> Value:
        """Join a group as a member that subscribes to a topic; return the answer."""
        subscription = {"topics": [topic], "user_data": None}
        metadata = bytes(2) + encode_request("ConsumerProtocolSubscription", 0, subscription)
        return self.ask(
            "JoinGroup",
            2,
            group_id=group,
            session_timeout_ms=TIMEOUT_MS,
            rebalance_timeout_ms=TIMEOUT_MS,
            protocol_type="consumer",
            protocols=[{"name": "range", "metadata": metadata}],
        )


def produce(broker: Connection, topic: str, lines: list[str], separator: str) -> None:
    sets: defaultdict[int, bytes] = defaultdict(bytes)
    partitions = broker.partitions(topic)
    for line in lines:
        key, value = (part.encode() for part in line.split(separator, 1))
        sets[to_positive(murmur2(key)) % len(partitions)] += encode(KAFKA, 0, key, value)
    for partition, records in sorted(sets.items()):
        broker.produce(topic, partition, records)


def read(broker: Connection, topic: str, partition: int, format: str) -> Iterator[str]:
    for _, message in scan(KAFKA, broker.fetch(topic, partition)):
        assert isinstance(message, Message)
        key, value = ((part or b"").decode() for part in (message.key, message.value))
        yield format.replace("%k", key).replace("%s", value).replace("\\n", "\n")


def read_in_group(broker: Connection, group: str, topic: str) -> None:
    """Join a group, commit the log end of each partition, and leave."""
    joined = broker.join(group, topic)
    member = {"group_id": group, "member_id": joined["member_id"]}
    broker.ask("SyncGroup", 2, **member, generation_id=joined["generation_id"])
    ends = {}
    for partition in broker.partitions(topic):
        ends[partition] = len([*scan(KAFKA, broker.fetch(topic, partition))])
    offsets = [{"partition_index": each, "committed_offset": end} for each, end in ends.items()]
    generation = {"generation_id_or_member_epoch": joined["generation_id"]}
    topics = [{"name": topic, "partitions": offsets}]
    broker.ask("OffsetCommit", 4, **member, **generation, topics=topics)
    broker.ask("LeaveGroup", 1, **member)


def main() -> None:
    parser = argparse.ArgumentParser()
    for option in ("-b", "-t", "-K", "-X", "-l", "-f", "-G", "-c", "-p"):
        parser.add_argument(option)
    for flag in ("-P", "-C", "-e", "-q"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("topics", nargs="*")
    options = parser.parse_args()
    host, port = options.b.split(":")
    broker = Connection(host, int(port))
    if options.P:
        produce(broker, options.t, Path(options.l).read_text().splitlines(), options.K)
    elif options.C:
        sys.stdout.writelines(read(broker, options.t, int(options.p), options.f))
    else:
        read_in_group(broker, options.G, *options.topics)


if __name__ == "__main__":
    main()
