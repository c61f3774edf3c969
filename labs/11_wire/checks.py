"""Checks of lab 11: a client that speaks to a broker, which is the real one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from kminilog.clock import ManualClock
from kminilog.course.comparing import Comparer
from kminilog.format.dialect import KAFKA
from kminilog.format.message import Message, encode, scan
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.text import table
from kminilog.wire.broker import ServingBroker
from kminilog.wire.schemas import MalformedError
from kminilog.wire.schemas import decode as decode_fields
from kminilog.wire.schemas import encode as encode_fields
from kminilog.wire.served import Address, ServedLogDir

PRODUCE, FETCH, API_VERSIONS = 0, 1, 18
STORED = [(None, b"first"), (b"key", b"second"), (b"", b"")]
TIMEOUT_MS = 1000


class Broker:
    """A broker of one topic, orders, with two partitions; STORED is in each of them."""

    def __init__(self, writer: LogDirWriter) -> None:
        self.writer = writer
        served = ServedLogDir(writer, Address("127.0.0.1", 9092))
        self._broker = ServingBroker(served, ManualClock(), Random(0))

    def answer(self, name: str, body: bytes) -> bytes:
        """Return the body of the answer to the body of a request."""
        request, end = decode_fields(f"{name}Request", 0, body)
        if end != len(body):
            raise MalformedError(f"{len(body) - end} bytes after the request")
        messages = self._broker.messages
        ask = messages.produce if name == "Produce" else messages.fetch
        answer, *_ = ask(request, 0)
        return encode_fields(f"{name}Response", 0, answer or {})

    def messages(self, partition: int) -> list[tuple[int, bytes | None, bytes | None]]:
        """Return what a partition holds: offset, key, value."""
        reader = self.writer.reader(TopicPartition("orders", partition))
        return [(one.offset, one.key, one.value) for one in reader.read(0, 1 << 20)]


@contextmanager
def _broker() -> Iterator[Broker]:
    with TemporaryDirectory() as place, LogDirWriter.open(Path(place), create=True) as writer:
        writer.create_topic(Topic("orders", 2, KAFKA), chance=Random(0))
        for partition in (0, 1):
            writer.log(TopicPartition("orders", partition)).append(STORED)
        yield Broker(writer)


def _set(*messages: tuple[bytes | None, bytes | None]) -> bytes:
    return b"".join(encode(KAFKA, 0, *message) for message in messages)


def _number(value: int, length: int, order: Any = "big") -> bytes:
    return value.to_bytes(length, order, signed=True)


def _text(value: str | None) -> bytes:
    data = None if value is None else value.encode()
    return _number(-1 if data is None else len(data), 2) + (data or b"")


def first_win(name: str) -> list[str]:
    """Return the beginning of a request whose client has the student's name."""
    client = name[:40]
    data = _frame(API_VERSIONS, 1, client, b"")
    rows = [
        (0, "size", data[:4].hex(" "), f"{len(data) - 4}"),
        (4, "key", data[4:6].hex(" "), "ApiVersions"),
        (8, "number", data[8:12].hex(" "), "1"),
        (12, "length", data[12:14].hex(" "), f"{len(client.encode())}"),
        (14, "name", data[14:22].hex(" "), client),
    ]
    return table(("byte", "field", "bytes", "meaning"), rows)


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a request and its answer, as they went over the network."""
    chance = Random(seed)
    correlation_id, partition = chance.randrange(1, 1 << 30), chance.randrange(2)
    message_set = _set((name.encode()[:40], b"." * chance.randrange(5, 40)), (None, b"last"))
    body = _produce_body("orders", partition, message_set)
    with _broker() as broker:
        for _ in range(chance.randrange(1, 9)):
            broker.answer("Produce", _produce_body("orders", partition, _set((None, b"other"))))
        answer = _number(correlation_id, 4) + broker.answer("Produce", body)
    (folder / "produce.request").write_bytes(_frame(PRODUCE, correlation_id, "lab", body))
    (folder / "produce.answer").write_bytes(_number(len(answer), 4) + answer)


# ---- 11.1


def _frame(key: int, correlation_id: int, client_id: str | None, body: bytes) -> bytes:
    header = _number(key, 2) + _number(0, 2) + _number(correlation_id, 4) + _text(client_id)
    return _number(len(header) + len(body), 4) + header + body


def precondition_1(api_key: int, correlation_id: int, client_id: str | None, body: bytes) -> bool:
    """Return whether the numbers fit, and the text can be sent."""
    is_text = client_id is None or (client_id.isprintable() and len(client_id) < 1000)
    return 0 <= api_key < 1 << 15 and 0 <= correlation_id < 1 << 31 and is_text


def exercise_1(compare: Comparer, frame: Callable[..., Any]) -> None:
    cases: list[tuple[int, int, str | None, bytes]] = [
        (API_VERSIONS, 7, "desk", b""),
        (FETCH, 2**31 - 1, "desk", b"body"),
        (PRODUCE, 0, "Zoë 张伟", b"a body"),
        (FETCH, 258, None, b"body"),
        (FETCH, 258, "", b"body" * 5000),
    ]
    for case in cases:
        key, number, client, body = case
        right = _frame(*case)
        rest = right[4:]
        characters = right[12:14] if client is None else _number(len(client), 2)
        mistakes = {
            "frame-counts-its-size": _number(len(right), 4) + rest,
            "frame-size-of-body": _number(len(body), 4) + rest,
            "frame-without-size": rest,
            "frame-without-version": _number(len(rest) - 2, 4) + rest[:2] + rest[4:],
            "client-null-as-empty": _frame(key, number, client or "", body),
            "length-in-characters": right[:12] + characters + right[14:],
            "little-endian": b"".join(
                (
                    *(_number(len(rest), 4, "little"), _number(key, 2, "little"), bytes(2)),
                    *(_number(number, 4, "little"), right[12:14][::-1], right[14:]),
                )
            ),
        }
        shown = f"frame({key}, {number}, {client!r}, {len(body)} bytes)"
        compare.equal(shown, partial(frame, *case), right, mistakes)


# ---- 11.2


def _produce_body(topic: str, partition: int, message_set: bytes, acks: int = 1) -> bytes:
    data = {"index": partition, "records": message_set}
    topics = [{"name": topic, "partition_data": [data]}]
    return encode_fields(
        "ProduceRequest", 0, {"acks": acks, "timeout_ms": TIMEOUT_MS, "topic_data": topics}
    )


def exercise_2(compare: Comparer, produce_body: Callable[..., Any]) -> None:
    messages = [(b"alice", b"book"), (None, b"pen")]
    cases = [("orders", 0, _set(*messages), 1), ("a", 1, _set((b"", b"v" * 70_000)), -1)]
    for topic, partition, message_set, acks in cases:
        right = _produce_body(topic, partition, message_set, acks)
        head, one, name = right[:6], _number(1, 4), _text(topic)
        place, length = _number(partition, 4), _number(len(message_set), 4)
        mistakes = {
            "array-without-count": head + name + place + length + message_set,
            "set-without-length": head + one + name + one + place + message_set,
            "set-counts-messages": head
            + one
            + name
            + one
            + place
            + _number(len([*scan(KAFKA, message_set)]), 4)
            + message_set,
            "partition-before-topic": head + one + place + one + name + length + message_set,
            "acks-of-four-bytes": bytes(2) * (acks > 0) + b"\xff\xff" * (acks < 0) + right,
        }
        compare.equal(
            f"produce_body({topic!r}, {partition}, {len(message_set)} bytes, {acks})",
            partial(produce_body, topic, partition, message_set, acks),
            right,
            mistakes,
        )
    with _broker() as broker:
        body = produce_body("orders", 1, _set(*messages), 1)
        broker.answer("Produce", body)
        right = [(offset, *one) for offset, one in enumerate([*STORED, *messages])]
        compare.equal("what orders-1 holds then", partial(broker.messages, 1), right)


# ---- 11.3


def exercise_3(compare: Comparer, produced: Callable[..., Any]) -> None:
    data = [_number(number, 4) + one for number, one in enumerate(_answers_to_produce(), start=5)]
    right = [_read_produced(one) for one in data]
    compare.all_equal(
        [
            (
                f"produced({one[:40].hex(' ')}{' …' * (len(one) > 40)})",
                partial(produced, one),
                read,
            )
            for one, read in zip(data, right, strict=True)
        ],
        [
            ("first-partition-only", [_firsts(read) for read in right]),
            ("first-topic-only", [[one for one in read if one[0] == read[0][0]] for read in right]),
            (
                "error-without-sign",
                [
                    [(name, index, error % (1 << 16), base) for name, index, error, base in read]
                    for read in right
                ],
            ),
            ("errors-left-out", [[one for one in read if not one[2]] for read in right]),
            (
                "offset-of-four-bytes",
                [[(*one[:3], one[3] >> 32) for one in read] for read in right],
            ),
        ],
    )


def _answers_to_produce() -> Iterator[bytes]:
    """Yield answers of the broker, and two that it gives only on a bad day."""
    message_set = _set((None, b"one"), (None, b"two"))
    damaged = message_set[:-1] + b"?"
    asked: list[list[tuple[str, list[tuple[int, bytes]]]]] = [
        [("orders", [(0, message_set)])],
        [("orders", [(1, message_set), (0, damaged), (7, message_set)])],
        [("orders", [(0, message_set)]), ("nowhere", [(0, message_set)])],
        [],
    ]
    with _broker() as broker:
        for topics in asked:
            data = [
                {
                    "name": name,
                    "partition_data": [{"index": each, "records": one} for each, one in sets],
                }
                for name, sets in topics
            ]
            body = encode_fields("ProduceRequest", 0, {"acks": 1, "topic_data": data})
            yield broker.answer("Produce", body)
    for name, error, base in (("orders", -1, -1), ("é", 0, 2**40)):
        one = {"index": 3, "error_code": error, "base_offset": base}
        topics = [{"name": name, "partition_responses": [one]}]
        yield encode_fields("ProduceResponse", 0, {"responses": topics})


def _read_produced(data: bytes) -> list[tuple[str, int, int, int]]:
    read, _ = decode_fields("ProduceResponse", 0, data, 4)
    return [
        (topic["name"], one["index"], one["error_code"], one["base_offset"])
        for topic in read["responses"]
        for one in topic["partition_responses"]
    ]


def _firsts(read: list[tuple[str, int, int, int]]) -> list[tuple[str, int, int, int]]:
    return list({one[0]: one for one in reversed(read)}.values())[::-1]


# ---- 11.4


def exercise_4(compare: Comparer, fetched: Callable[..., Any]) -> None:
    limits = [(0, 1 << 20), (0, 70), (1, 70), (0, 20), (3, 1 << 20), (2, 40), (1, 38)]
    limits += [(0, limit) for limit in range(1, 100, 3)]
    with _broker() as broker:
        data = [(_fetch(broker, *each), each[0]) for each in limits]
        gone = [(_fetch(broker, offset, 1 << 20), offset) for offset in (9, -1)]
    read = [_read_fetched(*each) for each in data]
    compare.all_equal(
        [
            (
                f"fetched({len(each)} bytes, {offset})",
                partial(_given_up, fetched, each, offset),
                (found.messages, found.next_offset),
            )
            for (each, offset), found in zip(data, read, strict=True)
        ],
        [
            ("next-is-last", [(one.messages, one.next_offset - 1) for one in read]),
            ("next-after-cut", [(one.messages, one.next_offset + one.is_cut) for one in read]),
            ("next-is-count", [(one.messages, len(one.messages)) for one in read]),
            ("next-is-high-watermark", [(one.messages, len(STORED)) for one in read]),
            (
                "cut-is-damage",
                ["EOFError" if one.is_cut else (one.messages, one.next_offset) for one in read],
            ),
        ],
    )
    for each, offset in gone:
        compare.refuses(
            f"fetched(an answer with error 1, {offset})",
            partial(fetched, each, offset),
            ValueError,
            {"error-is-no-messages": ([], offset)},
        )


def _given_up(fetched: Callable[..., Any], data: bytes, offset: int) -> Any:
    """Return what a function gives; EOFError is what some raise for a message that is cut."""
    try:
        return fetched(data, offset)
    except EOFError:
        return "EOFError"


def _fetch(broker: Broker, offset: int, limit: int) -> bytes:
    one = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": limit}
    topics = [{"topic": "orders", "partitions": [one]}]
    body = encode_fields("FetchRequest", 0, {"replica_id": -1, "topics": topics})
    return _number(8, 4) + broker.answer("Fetch", body)


class Fetched(NamedTuple):
    """What stands in an answer."""

    messages: list[tuple[int, bytes | None, bytes | None]]
    next_offset: int
    is_cut: bool


def _read_fetched(data: bytes, offset: int) -> Fetched:
    read, _ = decode_fields("FetchResponse", 0, data, 4)
    records = read["responses"][0]["partitions"][0]["records"]
    found = [one for _, one in scan(KAFKA, records) if isinstance(one, Message)]
    messages = [(one.offset, one.key, one.value) for one in found]
    is_cut = sum(one.length_bytes for one in found) < len(records)
    return Fetched(messages, messages[-1][0] + 1 if messages else offset, is_cut)


# ---- 11.5


def exercise_5(compare: Comparer, answers: Callable[..., Any]) -> None:
    with _broker() as broker:
        bodies = [_fetch(broker, offset, 1 << 20)[4:] for offset in (0, 1, 3)]
    numbers = [5, 6, 258]
    frames = [
        _number(4 + len(body), 4) + _number(number, 4) + body
        for number, body in zip(numbers, bodies, strict=True)
    ]
    whole = list(zip(numbers, bodies, strict=True))
    data = b"".join(frames)
    ends = [len(b"".join(frames[:count])) for count in range(4)]
    for length in (len(data), 0, 3, 4, 7, 8, ends[1] - 1, ends[1], ends[1] + 2, ends[2] + 9):
        given = data[:length]
        done = sum(end <= length for end in ends[1:])
        rest = given[ends[done] :]
        mistakes: dict[str, Any] = {
            "rest-lost": (whole[:done], b""),
            "first-answer-only": (whole[: min(done, 1)], given[ends[min(done, 1)] :]),
            "frame-cut-is-answer": (
                [*whole[:done], (int.from_bytes(rest[4:8]), rest[8:])] if rest else whole[:done],
                b"",
            ),
        }
        compare.equal(
            f"answers({length} of {len(data)} bytes, {numbers})",
            partial(answers, given, list(numbers)),
            (whole[:done], rest),
            mistakes,
        )
    for others in ([6, 5, 258], [7, 6, 258], []):
        compare.refuses(
            f"answers({len(data)} bytes, {others})",
            partial(answers, data, others),
            ValueError,
            {"correlation-unchecked": (whole, b"")},
        )


# ---- 11.6

STEPS = {
    0: "go on",
    1: "ask for the offsets",
    3: "ask for the leader",
    5: "ask for the leader",
    6: "ask for the leader",
    7: "send it again",
}
GIVE_UP = "give up"


def exercise_6(compare: Comparer, after_error: Callable[..., Any]) -> None:
    codes = [*range(-1, 12), 17, 43, 76, 87, 1000]
    right = [STEPS.get(code, GIVE_UP) for code in codes]
    compare.all_equal(
        [
            (f"after_error({code})", partial(after_error, code), step)
            for code, step in zip(codes, right, strict=True)
        ],
        [
            ("sends-all-again", ["send it again" if s == GIVE_UP else s for s in right]),
            ("gives-up-at-once", [s if s == "go on" else GIVE_UP for s in right]),
            ("sends-to-old-leader", [s.replace("ask for the leader", STEPS[7]) for s in right]),
            ("minus-one-is-done", [STEPS.get(max(code, 0), GIVE_UP) for code in codes]),
        ],
    )


# ---- 11.7


def solve_7(folder: Path) -> dict[str, Any]:
    """Return what stands in the files of the student."""
    request = (folder / "files" / "produce.request").read_bytes()
    answer = (folder / "files" / "produce.answer").read_bytes()
    header, start = decode_fields("RequestHeader", 0, request, 4)
    body, _ = decode_fields("ProduceRequest", 0, request, start)
    read, _ = decode_fields("ProduceResponse", 0, answer, 8)
    (data,) = body["topic_data"][0]["partition_data"]
    return {
        "CORRELATION_ID": header["correlation_id"],
        "PARTITION": data["index"],
        "SET_POSITION": len(request) - len(data["records"]),
        "BASE_OFFSET": read["responses"][0]["partition_responses"][0]["base_offset"],
    }


def exercise_7(compare: Comparer, answers: dict[str, Any], folder: Path) -> None:
    right = solve_7(folder)
    little = int.from_bytes(right["CORRELATION_ID"].to_bytes(4), "little")
    mistakes = {
        "CORRELATION_ID": {"little-endian": little},
        "SET_POSITION": {"position-of-length": right["SET_POSITION"] - 4},
    }
    for name, value in right.items():
        compare.equal(name, lambda name=name: answers[name], value, mistakes.get(name))
