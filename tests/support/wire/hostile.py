"""Frames that no honest client sends: random bytes, and requests with some bytes changed."""

import struct
from collections.abc import Iterator
from random import Random

from kminilog.wire.schemas import APIS, Value, encode
from tests.support.wire.exchange import KEYS, fetched, frame, produced
from tests.support.wire.record_sets import Producer, batch_of, set_of, wrapped

TOPIC = "fuzzed"
_SOME = [(b"k", b"value"), (None, b"v" * 60), (b"k", None)]


def _requests() -> list[tuple[str, int, Value]]:
    """Return a request of each kind as a client would send it, in its newest version."""
    subscription = b"\0\0" + encode("ConsumerProtocolSubscription", 0, {"topics": [TOPIC]})
    place = {"partition_index": 0, "timestamp": -1, "committed_offset": 1}
    member = {"group_id": "g", "member_id": "m", "generation_id": 1}
    sets = [
        set_of(_SOME),
        set_of(_SOME, magic=1),
        wrapped(_SOME, "gzip"),
        batch_of(_SOME),
        batch_of(_SOME, codec="gzip"),
        batch_of(_SOME, codec="zstd"),
        batch_of(_SOME, producer=Producer(5, 0, 0)),
        batch_of(_SOME, headers=[(b"h", b"1")]),
    ]
    join = member | {
        "member_id": "",
        "session_timeout_ms": 100,
        "rebalance_timeout_ms": 100,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": subscription}],
    }
    topic = {"name": TOPIC, "num_partitions": 2, "replication_factor": 1}
    resource = {"resource_type": 2, "resource_name": TOPIC, "configuration_keys": None}
    by_api: list[tuple[str, Value]] = [
        ("ApiVersions", {}),
        ("Metadata", {"topics": [TOPIC], "allow_auto_topic_creation": True}),
        ("Metadata", {"topics": None}),
        *(("Produce", produced(records, TOPIC)) for records in sets),
        ("Fetch", fetched([(TOPIC, 0, 0), (TOPIC, 1, 0)]) | {"max_wait_ms": 5}),
        ("ListOffsets", {"topics": [{"name": TOPIC, "partitions": [place]}]}),
        ("FindCoordinator", {"key": "g"}),
        ("JoinGroup", join),
        ("SyncGroup", member),
        ("Heartbeat", member),
        ("LeaveGroup", member),
        ("OffsetCommit", member | {"topics": [{"name": TOPIC, "partitions": [place]}]}),
        ("OffsetFetch", {"group_id": "g", "topics": [{"name": TOPIC, "partition_indexes": [0]}]}),
        ("DescribeGroups", {"groups": ["g"]}),
        ("ListGroups", {}),
        ("DeleteGroups", {"groups_names": ["g"]}),
        ("CreateTopics", {"topics": [topic]}),
        ("DeleteTopics", {"topic_names": [TOPIC]}),
        ("CreatePartitions", {"topics": [{"name": TOPIC, "count": 4, "assignments": None}]}),
        ("DescribeConfigs", {"resources": [resource]}),
        ("InitProducerId", {"transactional_id": None}),
    ]
    return [(api, KEYS[api].newest, request) for api, request in by_api]


def frames(count: int, seed: int) -> Iterator[bytes]:
    """Yield so many frames, with their sizes, which may be wrong."""
    chance, requests = Random(seed), _requests()
    for _ in range(count):
        kind = chance.random()
        if kind < 0.1:
            data = chance.randbytes(chance.randrange(1, 200))
        elif kind < 0.2:  # the header is right, and nothing else
            api = chance.choice(list(APIS.values()))
            version = chance.randint(api.oldest, api.newest)
            data = struct.pack(">hhih", api.key, version, 1, -1)
            data += chance.randbytes(chance.randrange(60))
        else:
            api_name, newest, request = chance.choice(requests)
            data = frame(api_name, chance.randint(0, newest), request)
            data = _changed(data, chance) if kind < 0.9 else data
        size = len(data)
        if chance.random() < 0.05:
            size = chance.choice((0, -1, size - 1, size + 1, size * 2, (1 << 31) - 1, 1 << 24))
        yield struct.pack(">i", size) + data


def _changed(data: bytes, chance: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(changed))
        act = chance.random()
        if act < 0.6:
            changed[at] = chance.choice((0, 1, 2, 127, 128, 255, chance.randrange(256)))
        elif act < 0.7:
            del changed[at:]
        elif act < 0.85:
            changed[at:at] = chance.randbytes(chance.randrange(1, 9))
        else:
            del changed[at : at + chance.randrange(1, 9)]
        if len(changed) < 9:
            break
    return bytes(changed)
