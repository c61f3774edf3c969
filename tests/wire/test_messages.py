"""Produce, Fetch and ListOffsets, asked through their bytes."""

import asyncio

import pytest

from kminilog.format.dialect import KAFKA
from kminilog.format.message import Message, scan
from kminilog.format.names import MAX_OFFSET
from kminilog.storage.topics import Topic
from kminilog.wire import broker, messages, record_sets
from kminilog.wire.errors import Code
from kminilog.wire.messages import EARLIEST, LATEST, MOST_UNREAD_BYTES
from tests.support.wire.exchange import Exchange, fetched, produced, short, together
from tests.support.wire.loops import run_apart
from tests.support.wire.record_sets import Producer, batch_of, set_of

SOME = [(b"k", b"a"), (None, b"b" * 50), (b"", b""), (b"k2", None)]


@pytest.fixture
def exchange(tmp_path):
    with Exchange(tmp_path / "log-dir") as found:
        found.create()
        yield found


@pytest.fixture
def documented(exchange):
    """The same, with a topic `docs` in the documented dialect."""
    exchange.__exit__()
    again = Exchange(exchange.writer.path)
    again.writer.create_topic(Topic("docs"))
    again.__exit__()
    with Exchange(exchange.writer.path) as found:
        yield found


def read(records: bytes) -> list[tuple[int, bytes | None, bytes | None]]:
    """Return the whole messages of an answer."""
    found = [each for _, each in scan(KAFKA, records)]
    return [(each.offset, each.key, each.value) for each in found if isinstance(each, Message)]


def numbered(pairs, start=0):
    return [(number, *pair) for number, pair in enumerate(pairs, start)]


# ---- produce


@pytest.mark.parametrize("version", range(9))
def test_produce_of_each_version_is_fetched_in_each_version(exchange, version):
    records = set_of(SOME) if version < 3 else batch_of(SOME)
    answer = exchange.produce(records, version=version)
    assert (answer["error_code"], answer["base_offset"]) == (0, 0)
    assert exchange.produce(records, version=version)["base_offset"] == 4
    for fetch_version in range(7):
        answer = exchange.fetch(version=fetch_version)
        assert read(answer["records"]) == numbered(SOME * 2)
        assert answer["high_watermark"] == 8


def test_fetch_is_a_read_of_the_file(exchange):
    exchange.produce(set_of(SOME))
    log = exchange.writer.log(exchange.writer.topic("orders").partition(0))
    assert exchange.fetch()["records"] == log.segments()[0].log_path.read_bytes()
    assert exchange.fetch(1)["records"] == log.segments()[0].log_path.read_bytes()[28:]


def test_set_of_too_many_messages_is_refused(exchange, monkeypatch):
    monkeypatch.setattr(record_sets, "MOST_RECORDS", 10)
    one = set_of([(None, b"a")])
    assert exchange.produce(one * 11)["error_code"] == Code.MESSAGE_TOO_LARGE
    assert exchange.produce(one * 10)["base_offset"] == 0


def test_set_for_which_no_offset_is_left_is_refused(exchange):
    log = exchange.writer.log(exchange.writer.topic("orders").partition(0))
    log.begin_at(MAX_OFFSET - 1)
    assert exchange.produce(set_of(SOME))["error_code"] == Code.KAFKA_STORAGE_ERROR
    assert exchange.produce(set_of(SOME[:1]))["base_offset"] == MAX_OFFSET - 1


@pytest.mark.parametrize("records", [None, b""])
def test_empty_set_has_no_base_offset(exchange, records):
    answer = exchange.produce(records)
    assert (answer["error_code"], answer["base_offset"]) == (0, -1)


@pytest.mark.parametrize("at", [0, 1])
def test_one_wrong_checksum_and_nothing_of_the_set_is_appended(exchange, at):
    parts = [bytearray(set_of([(None, b"a")])), bytearray(batch_of([(None, b"b")]))]
    parts[at][-1] ^= 1
    answer = exchange.produce(bytes(parts[0] + parts[1]))
    assert (answer["error_code"], answer["base_offset"]) == (Code.CORRUPT_MESSAGE, -1)
    assert exchange.values() == []


def test_acks_0_gets_no_answer_and_its_messages_are_there(exchange):
    assert exchange.produce(set_of(SOME), acks=0) is None
    assert exchange.produce(b"damaged", acks=0) is None
    assert len(exchange.values()) == 4


@pytest.mark.parametrize("acks", [1, -1])
def test_acks_1_and_all_are_the_same_with_one_broker(exchange, acks):
    assert exchange.produce(set_of(SOME), acks=acks)["error_code"] == 0
    assert len(exchange.values()) == 4


@pytest.mark.parametrize(
    ("acks", "version", "code"),
    [
        (5, 0, Code.REQUEST_TIMED_OUT),
        (5, 3, Code.INVALID_REQUIRED_ACKS),
        (-2, 3, Code.INVALID_REQUIRED_ACKS),
    ],
)
def test_other_acks_are_refused(exchange, acks, version, code):
    assert exchange.produce(set_of(SOME), acks=acks, version=version)["error_code"] == code
    assert exchange.values() == []


@pytest.mark.parametrize(
    ("topic", "partition", "code"),
    [
        ("nothing", 0, Code.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 1, Code.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", -1, Code.UNKNOWN_TOPIC_OR_PARTITION),
        ("", 0, Code.UNKNOWN_TOPIC_OR_PARTITION),
        ("../orders", 0, Code.UNKNOWN_TOPIC_OR_PARTITION),
        ("n" * 32_767, 0, Code.UNKNOWN_TOPIC_OR_PARTITION),
    ],
    ids=short,
)
def test_place_that_is_not_there_is_refused(exchange, topic, partition, code):
    answer = exchange.produce(set_of(SOME), topic=topic, partition=partition, version=8)
    assert answer["error_code"] == code
    answer = exchange.fetch(topic=topic, partition=partition)
    assert (answer["error_code"], answer["high_watermark"]) == (code, -1)


def test_partitions_of_a_request_fail_or_succeed_each_for_itself(exchange):
    request = produced(set_of([(None, b"a")]))
    request["topic_data"] += produced(b"damaged")["topic_data"]
    request["topic_data"] += produced(set_of([(None, b"b")]), "nothing")["topic_data"]
    request["topic_data"] += produced(set_of([(None, b"c")]))["topic_data"]
    answers = exchange("Produce", 3, request)["responses"]
    codes = [each["partition_responses"][0]["error_code"] for each in answers]
    assert codes == [0, Code.CORRUPT_MESSAGE, Code.UNKNOWN_TOPIC_OR_PARTITION, 0]
    assert exchange.values() == [b"a", b"c"]


def test_message_above_the_limit_of_its_topic_is_refused_with_its_set(exchange):
    exchange.create("small", max_message_bytes=100)
    answer = exchange.produce(set_of([(None, b"a"), (None, b"b" * 200)]), topic="small")
    assert answer["error_code"] == Code.MESSAGE_TOO_LARGE
    assert exchange.values("small") == []


def test_headers_are_refused_or_dropped_and_counted(exchange):
    records = batch_of(SOME, headers=[(b"h", b"1")])
    answer = exchange.produce(records, version=8)
    assert answer["error_code"] == Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert "message.drop.headers" in answer["error_message"]
    assert exchange.broker.messages.dropped.total() == 0
    assert exchange.create("dropping", message_drop_headers="true") == 0
    assert exchange.produce(records, topic="dropping")["error_code"] == 0
    assert exchange.broker.messages.dropped == {"headers": 4, "timestamps": 4}
    assert len(exchange.values("dropping")) == 4


def test_transactions_are_refused(exchange):
    request = produced(batch_of(SOME)) | {"transactional_id": "t"}
    (answer,) = exchange("Produce", 3, request)["responses"][0]["partition_responses"]
    assert answer["error_code"] == Code.INVALID_RECORD
    answer = exchange("InitProducerId", 0, {"transactional_id": "t"})
    assert answer["error_code"] == Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_watcher_is_told_where_messages_went(exchange):
    exchange.produce(set_of(SOME))
    (appended,) = exchange.asked[-1].appended
    assert (appended.partition, appended.offsets, appended.segment) == (
        ("orders", 0),
        range(4),
        f"{0:020d}",
    )
    log = exchange.writer.log(exchange.writer.topic("orders").partition(0))
    assert appended.size_bytes == log.segments()[0].log_path.stat().st_size
    exchange.produce(b"damaged")
    assert exchange.asked[-1].appended == ()


# ---- documented topics


def test_topic_in_the_documented_dialect_is_served_in_kafkas_layout(documented):
    some = [(b"k", b"a"), (None, b"b" * 50), (b"", b"")]
    assert documented.produce(set_of(some), topic="docs")["base_offset"] == 0
    assert documented.produce(batch_of(some), topic="docs")["base_offset"] == 3
    assert read(documented.fetch(topic="docs")["records"]) == numbered(some * 2)
    assert read(documented.fetch(2, topic="docs")["records"]) == numbered(some * 2)[2:]


def test_null_value_is_refused_in_the_documented_dialect(documented):
    answer = documented.produce(set_of([(None, b"a"), (b"k", None)]), topic="docs", version=8)
    assert answer["error_code"] == Code.INVALID_RECORD
    assert "null" in answer["error_message"]
    assert documented.values("docs") == []


def test_documented_messages_stay_within_the_limit(documented, monkeypatch):
    documented.produce(set_of([(None, b"x" * 100)] * 10), topic="docs")
    assert len(documented.fetch(topic="docs", max_bytes=300, version=2)["records"]) == 252
    assert len(documented.fetch(topic="docs", max_bytes=10, version=3)["records"]) == 126
    monkeypatch.setattr(messages, "_MOST_CONVERTED_BYTES", 500)
    assert len(read(documented.fetch(topic="docs")["records"])) in (3, 4)


# ---- fetch


@pytest.fixture
def large(exchange):
    """Messages of 126 bytes, 10 in each of 3 segments."""
    exchange.create("large", segment_bytes=1260)
    exchange.produce(set_of([(None, b"x" * 100)] * 30), topic="large")
    return exchange


@pytest.mark.parametrize("version", [0, 1, 2])
def test_old_fetch_cuts_the_last_message_at_the_limit(large, version):
    for limit in (1, 25, 125, 126, 127, 300):
        answer = large.fetch(topic="large", max_bytes=limit, version=version)
        assert len(answer["records"]) == limit
        assert len(read(answer["records"])) == limit // 126


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_later_fetch_has_a_whole_message_whatever_the_limit(large, version):
    for limit in (0, 1, 126, 300):
        answer = large.fetch(5, topic="large", max_bytes=limit, version=version)
        assert len(answer["records"]) == max(limit, 126)
        assert read(answer["records"])[0][0] == 5
    whole = large.fetch(topic="large", max_bytes=1 << 20, version=version)
    assert len(whole["records"]) == 1260  # of one segment, as in Kafka


def test_only_the_first_partition_with_messages_may_be_above_the_limit(large):
    request = fetched([("orders", 0, 0), ("large", 0, 0), ("large", 0, 1)], 10)
    answers = large("Fetch", 4, request)["responses"]
    sizes = [len(each["partitions"][0]["records"]) for each in answers]
    assert sizes == [0, 126, 10]


def test_limit_of_the_whole_answer_holds_for_all_partitions_together(large):
    request = fetched([("large", 0, 0), ("large", 0, 10), ("large", 0, 20)]) | {"max_bytes": 1500}
    answers = large("Fetch", 3, request)["responses"]
    sizes = [len(each["partitions"][0]["records"]) for each in answers]
    assert sizes == [1260, 240, 0]


def test_fetch_is_small_while_answers_are_not_read(exchange):
    exchange.produce(set_of([(None, b"x" * 1000)] * 300))
    exchange.broker.messages.unread_bytes = MOST_UNREAD_BYTES + 5
    assert len(exchange.fetch()["records"]) == 1 << 16
    exchange.broker.messages.unread_bytes = MOST_UNREAD_BYTES - 100_000
    assert len(exchange.fetch()["records"]) == 100_000
    assert len(exchange.fetch(version=0)["records"]) == 100_000


def test_fetch_at_the_end_is_empty_and_out_of_range_has_no_watermark(large):
    assert large.fetch(30, topic="large")["records"] == b""
    for offset in (31, -1, -(1 << 63), (1 << 63) - 1):
        answer = large.fetch(offset, topic="large", version=5)
        assert answer["error_code"] == Code.OFFSET_OUT_OF_RANGE
        assert answer["records"] == b""
        names = "high_watermark", "last_stable_offset", "log_start_offset"
        assert [answer[name] for name in names] == [-1, -1, -1]


def test_fetch_with_limits_below_0_is_as_with_0(large):
    assert large.fetch(topic="large", max_bytes=-5, version=0)["records"] == b""
    assert len(large.fetch(topic="large", max_bytes=-(1 << 31), version=4)["records"]) == 126


def test_fetch_of_a_damaged_log_is_an_error_of_that_partition(large):
    log = large.writer.log(large.writer.topic("large").partition(0))
    path = log.segments()[1].log_path
    path.write_bytes(b"\xff" * 1260)
    answer = large.fetch(15, topic="large")
    assert answer["error_code"] == Code.KAFKA_STORAGE_ERROR
    assert large.fetch(5, topic="large")["error_code"] == 0


async def timed(coroutine):
    loop = asyncio.get_running_loop()
    start = loop.time()
    answer = await coroutine
    return answer, loop.time() - start


def waiting(**options) -> dict:
    return fetched([("orders", 0, 0)]) | {"max_wait_ms": 60_000} | options


def test_fetch_waits_for_messages(exchange):
    async def later():
        await asyncio.sleep(0.05)
        for number in range(3):
            await exchange.asked_for("Produce", 3, produced(set_of([(None, b"%d" % number)])))
            await asyncio.sleep(0.01)

    fetch, many, _ = together(
        exchange.asked_for("Fetch", 4, waiting()),
        exchange.asked_for("Fetch", 4, waiting(min_bytes=70)),
        later(),
    )
    found = [read(one["responses"][0]["partitions"][0]["records"]) for one in (fetch, many)]
    assert list(map(len, found)) == [1, 3]


def test_fetch_waits_no_longer_than_it_may(exchange):
    ((answer, seconds),) = together(timed(exchange.asked_for("Fetch", 4, waiting(max_wait_ms=120))))
    assert answer["responses"][0]["partitions"][0]["records"] == b""
    is_early = seconds < 0.12
    assert not is_early


@pytest.mark.parametrize(
    "options",
    [
        {"min_bytes": 0},
        {"max_wait_ms": 0},
        {"max_wait_ms": -1},
        {"topics": fetched([("nothing", 0, 0)])["topics"]},
        {"topics": fetched([("orders", 0, 9)])["topics"]},
    ],
)
def test_fetch_does_not_wait(exchange, options):
    exchange("Fetch", 4, waiting(**options))


def test_fetch_of_a_client_that_is_gone_does_not_wait(exchange):
    exchange("Fetch", 4, waiting(), is_gone=lambda: True)


def test_fetch_that_is_cancelled_in_the_moment_of_an_append_ends(exchange):
    """`asyncio.wait_for` of Python 3.11 loses the cancellation: a broker never ended."""

    async def story():
        task = asyncio.create_task(exchange.asked_for("Fetch", 4, waiting()))
        await asyncio.sleep(0.01)
        await exchange.asked_for("Produce", 3, produced(set_of([(None, b"a")])))
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert run_apart(story())


def test_fetches_of_too_many_partitions_do_not_all_wait(exchange, monkeypatch):
    monkeypatch.setattr(broker, "MOST_WAITING_PARTITIONS", 10)
    large = fetched([("orders", 0, 0)] * 4) | {"max_wait_ms": 60_000}

    async def story():
        asked = [exchange.asked_for("Fetch", 4, large) for _ in range(4)]
        tasks = [asyncio.create_task(each) for each in asked]
        await asyncio.sleep(0.05)
        done = [task.done() for task in tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return done

    assert run_apart(story()) == [False, False, True, True]
    assert exchange.broker._waiting_partitions == 0


def test_fetch_that_waits_does_not_see_a_topic_that_is_deleted_meanwhile(exchange):
    async def later():
        await asyncio.sleep(0.02)
        await exchange.asked_for("DeleteTopics", 1, {"topic_names": ["orders"]})
        await exchange.asked_for(
            "CreateTopics",
            1,
            {"topics": [{"name": "other", "num_partitions": 1, "replication_factor": 1}]},
        )
        await exchange.asked_for("Produce", 3, produced(set_of([(None, b"a")]), "other"))

    answer, _ = together(exchange.asked_for("Fetch", 4, waiting()), later())
    code = answer["responses"][0]["partitions"][0]["error_code"]
    assert code == Code.UNKNOWN_TOPIC_OR_PARTITION


# ---- offsets


def listed(exchange, timestamp, version=1, topic="large", partition=0, most=100):
    place = {"partition_index": partition, "timestamp": timestamp, "max_num_offsets": most}
    request = {"replica_id": -1, "topics": [{"name": topic, "partitions": [place]}]}
    return exchange("ListOffsets", version, request)["topics"][0]["partitions"][0]


@pytest.mark.parametrize("version", [1, 2])
def test_offsets_are_the_start_and_the_end(large, version):
    assert listed(large, LATEST, version)["offset"] == 30
    assert listed(large, EARLIEST, version)["offset"] == 0


def test_offsets_by_time_are_refused(large):
    answer = listed(large, 1_700_000_000_000)
    assert answer["error_code"] == Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert (answer["offset"], answer["timestamp"]) == (-1, -1)


def test_old_offsets_are_a_list(large):
    assert listed(large, LATEST, 0)["old_style_offsets"] == [30, 20, 10, 0]
    assert listed(large, LATEST, 0, most=2)["old_style_offsets"] == [30, 20]
    assert listed(large, EARLIEST, 0)["old_style_offsets"] == [0]
    assert listed(large, 0, 0)["old_style_offsets"] == []
    assert listed(large, (1 << 63) - 1, 0)["old_style_offsets"] == [20, 10, 0]
    assert listed(large, LATEST, 0, most=0)["old_style_offsets"] == []
    assert listed(large, LATEST, 0, most=-1)["old_style_offsets"] == []


@pytest.mark.parametrize("version", [0, 1, 2])
def test_offsets_of_what_is_not_there(large, version):
    for topic, partition in (("nothing", 0), ("large", 5), ("large", -1)):
        answer = listed(large, LATEST, version, topic, partition)
        assert answer["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
        assert answer.get("old_style_offsets", []) == []
        assert answer.get("offset", -1) == -1


# ---- producer ids


def test_producer_ids_are_never_given_twice(tmp_path):
    given = []
    for number in range(3):
        exchange = Exchange(tmp_path)
        for _ in range(3):
            answer = exchange("InitProducerId", 1, {"transactional_id": None})
            given.append(answer["producer_id"])
            assert (answer["error_code"], answer["producer_epoch"]) == (0, 0)
        exchange.kill() if number else exchange.__exit__()
    assert len(set(given)) == 9


def test_producer_ids_that_cannot_be_written_are_not_given(tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device")

    with Exchange(tmp_path) as exchange:
        with monkeypatch.context() as patched:
            patched.setattr(broker, "replace_file", full)
            for _ in range(2):
                answer = exchange("InitProducerId", 1, {"transactional_id": None})
                assert (answer["error_code"], answer["producer_id"]) == (
                    Code.KAFKA_STORAGE_ERROR,
                    -1,
                )
        assert exchange("InitProducerId", 1, {"transactional_id": None})["producer_id"] == 0
        (tmp_path / broker.PRODUCER_IDS_FILE).write_text("rubbish")
    with Exchange(tmp_path) as exchange:
        answer = exchange("InitProducerId", 1, {"transactional_id": None})
        assert (answer["error_code"] != 0, answer["producer_id"]) == (True, -1)


def test_idempotent_producer_of_a_documented_topic(documented):
    records = batch_of([(None, b"a")], producer=Producer(1, 0, 0))
    assert documented.produce(records, topic="docs")["base_offset"] == 0
    assert documented.produce(records, topic="docs")["base_offset"] == 0
    assert documented.values("docs") == [b"a"]
