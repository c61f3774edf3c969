"""Requests about topics, asked through their bytes."""

import pytest

from kminilog.consumer.coordinator import forget_topic
from kminilog.errors import LogDirError
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.topics import TOPIC_SUFFIX, Topic
from kminilog.wire import topics
from kminilog.wire.errors import Code
from kminilog.wire.served import NODE_ID
from kminilog.wire.topics import BROKER_RESOURCE, TOPIC_RESOURCE
from tests.support.wire.exchange import Exchange, short
from tests.support.wire.record_sets import set_of


@pytest.fixture
def exchange(tmp_path):
    with Exchange(tmp_path / "log-dir") as found:
        yield found


def names(exchange) -> list[str]:
    """Return the topics by the files, and by what clients are told: they must agree."""
    found = sorted(topic.name for topic in LogDir(exchange.writer.path).topics())
    told = exchange("Metadata", 1, {"topics": None})["topics"]
    assert [each["name"] for each in told] == found
    return found


def metadata(exchange, *wanted, version=1, **options):
    request = {"topics": list(wanted)} | options
    return exchange("Metadata", version, request)["topics"]


def created(exchange, name, partitions=1, *, replicas=1, version=1, configs=(), **options):
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replicas,
        "configs": [{"name": key, "value": value} for key, value in configs],
    }
    request = {"topics": [topic | options.pop("topic", {})]} | options
    (answer,) = exchange("CreateTopics", version, request)["topics"]
    return answer


# ---- metadata


@pytest.mark.parametrize("version", range(8))
def test_metadata_of_each_version(exchange, version):
    exchange.create("orders", 2)
    answer = exchange("Metadata", version, {"topics": ["orders", "nothing"]})
    (node,) = answer["brokers"]
    assert (node["node_id"], node["host"], node["port"]) == (NODE_ID, "127.0.0.1", 9092)
    orders, nothing = answer["topics"]
    assert [each["partition_index"] for each in orders["partitions"]] == [0, 1]
    assert {each["leader_id"] for each in orders["partitions"]} == {NODE_ID}
    assert nothing["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert names(exchange) == ["orders"]


def test_metadata_of_all_and_of_none(exchange):
    for name in ("b", "a"):
        exchange.create(name)
    assert [each["name"] for each in exchange("Metadata", 0, {"topics": []})["topics"]] == [
        "a",
        "b",
    ]
    assert exchange("Metadata", 1, {"topics": []})["topics"] == []


def test_metadata_of_a_topic_that_is_named_twice_has_it_once(exchange):
    """A topic of many partitions, named 50,000 times, would be a very large answer."""
    exchange.create("orders", 9)
    assert len(metadata(exchange, *["orders"] * 1000)) == 1


def test_topic_that_does_not_exist_is_created_only_if_the_broker_and_the_client_want_it(tmp_path):
    with Exchange(tmp_path) as exchange:
        assert metadata(exchange, "a")[0]["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
        assert names(exchange) == []
    settings = {"auto_create_topics_enable": True, "num_partitions": 3}
    with Exchange(tmp_path, **settings) as exchange:
        (answer,) = metadata(exchange, "a", version=4, allow_auto_topic_creation=False)
        assert answer["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
        (answer,) = metadata(exchange, "a", version=4, allow_auto_topic_creation=True)
        assert (answer["error_code"], len(answer["partitions"])) == (0, 3)
        (answer,) = metadata(exchange, "b", version=0)
        assert len(answer["partitions"]) == 3
        for bad in ("", ".", "..", "a/b", "ä", "x" * 250, "a\0b"):
            (answer,) = metadata(exchange, bad)
            assert answer["error_code"] == Code.INVALID_TOPIC_EXCEPTION
        assert names(exchange) == ["a", "b"]
        assert exchange.writer.topic("a").dialect.name == "kafka"


def test_coordinator_of_groups_is_this_broker_and_there_are_no_transactions(exchange):
    for version in range(3):
        answer = exchange("FindCoordinator", version, {"key": "g"})
        assert (answer["error_code"], answer["node_id"], answer["port"]) == (0, NODE_ID, 9092)
    answer = exchange("FindCoordinator", 1, {"key": "t", "key_type": 1})
    assert answer["error_code"] == Code.INVALID_REQUEST


# ---- create


@pytest.mark.parametrize("version", range(5))
def test_create_and_use(exchange, version):
    answer = created(exchange, "orders", 3, version=version)
    assert answer["error_code"] == 0
    assert names(exchange) == ["orders"]
    assert exchange.produce(set_of([(None, b"a")]), partition=2)["error_code"] == 0


def test_create_with_settings_and_defaults(exchange):
    answer = created(exchange, "orders", -1, replicas=-1, configs=[("segment.bytes", "5000")])
    assert answer["error_code"] == 0
    found = exchange.writer.topic("orders")
    assert (found.partitions, found.settings.segment_bytes) == (1, 5000)


def test_create_with_assignments(exchange):
    given = [{"partition_index": number, "broker_ids": [0]} for number in range(4)]
    assert created(exchange, "orders", -1, topic={"assignments": given})["error_code"] == 0
    assert exchange.writer.topic("orders").partitions == 4
    given[0]["broker_ids"] = [0, 1]
    answer = created(exchange, "other", -1, topic={"assignments": given})
    assert answer["error_code"] == Code.INVALID_REPLICATION_FACTOR


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("", {}, Code.INVALID_TOPIC_EXCEPTION),
        ("..", {}, Code.INVALID_TOPIC_EXCEPTION),
        ("a/b", {}, Code.INVALID_TOPIC_EXCEPTION),
        ("../a", {}, Code.INVALID_TOPIC_EXCEPTION),
        ("n" * 32_767, {}, Code.INVALID_TOPIC_EXCEPTION),
        ("a", {"partitions": 0}, Code.INVALID_PARTITIONS),
        ("a", {"partitions": -2}, Code.INVALID_PARTITIONS),
        ("a", {"partitions": 1 << 30}, Code.INVALID_PARTITIONS),
        ("a", {"replicas": 2}, Code.INVALID_REPLICATION_FACTOR),
        ("a", {"replicas": 0}, Code.INVALID_REPLICATION_FACTOR),
        ("a", {"configs": [("no.setting", "1")]}, Code.INVALID_CONFIG),
        ("a", {"configs": [("segment.bytes", "many")]}, Code.INVALID_CONFIG),
        ("a", {"configs": [("segment.bytes", None)]}, Code.INVALID_CONFIG),
        ("a", {"configs": [("segment.bytes", "-1")]}, Code.INVALID_CONFIG),
        ("a", {"configs": [("", "")]}, Code.INVALID_CONFIG),
        ("a", {"configs": [("x" * 32_767, "y" * 32_767)]}, Code.INVALID_CONFIG),
        ("there", {}, Code.TOPIC_ALREADY_EXISTS),
        ("there", {"validate_only": True}, Code.TOPIC_ALREADY_EXISTS),
    ],
    ids=short,
)
def test_create_is_refused(exchange, name, options, code):
    exchange.create("there")
    answer = created(exchange, name, **options)
    assert answer["error_code"] == code
    assert answer["error_message"]
    assert names(exchange) == ["there"]


def test_create_only_to_validate_creates_nothing(exchange):
    assert created(exchange, "orders", validate_only=True)["error_code"] == 0
    assert names(exchange) == []
    assert created(exchange, "orders")["error_code"] == 0


def test_topics_of_a_request_are_created_each_for_itself(exchange):
    one = {"num_partitions": 1, "replication_factor": 1}
    request = {"topics": [{"name": name} | one for name in ("a", "/", "a", "b")]}
    answer = exchange("CreateTopics", 1, request)["topics"]
    codes = [each["error_code"] for each in answer]
    assert codes == [0, Code.INVALID_TOPIC_EXCEPTION, Code.TOPIC_ALREADY_EXISTS, 0]
    assert names(exchange) == ["a", "b"]


def test_topic_that_cannot_be_written_is_an_error_and_is_not_there(exchange, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(type(exchange.writer), "create_topic", full)
        assert created(exchange, "orders")["error_code"] == Code.KAFKA_STORAGE_ERROR
    assert names(exchange) == []


# ---- delete, enlarge


@pytest.mark.parametrize("version", range(4))
def test_delete_takes_messages_and_offsets(exchange, version):
    exchange.create("orders")
    exchange.produce(set_of([(None, b"a")]))
    place = {"partition_index": 0, "committed_offset": 1}
    request = {"group_id": "g", "topics": [{"name": "orders", "partitions": [place]}]}
    exchange("OffsetCommit", 0, request)
    answer = exchange("DeleteTopics", version, {"topic_names": ["orders", "nothing"]})
    codes = [each["error_code"] for each in answer["responses"]]
    assert codes == [0, Code.UNKNOWN_TOPIC_OR_PARTITION]
    assert names(exchange) == []
    assert exchange.produce(set_of([(None, b"a")]))["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
    exchange.create("orders")
    assert exchange.values() == []
    fetched = exchange("OffsetFetch", 2, {"group_id": "g", "topics": None})
    assert fetched["topics"] == []


def test_topic_is_gone_although_a_group_cannot_be_read(exchange, monkeypatch):
    exchange.create("orders")
    assert topics.forget_topic is forget_topic

    def broken(*_):
        raise LogDirError("g.json", reason="broken")

    with monkeypatch.context() as patched:
        patched.setattr(topics, "forget_topic", broken)
        exchange("DeleteTopics", 1, {"topic_names": ["orders"]})
    assert names(exchange) == []
    assert exchange.create("orders") == 0


def test_topic_whose_deletion_was_interrupted_is_not_served_and_can_be_deleted(tmp_path):
    with Exchange(tmp_path) as exchange:
        exchange.create("orders")
    path = tmp_path / f"orders{TOPIC_SUFFIX}"
    path.write_text(path.read_text().replace("{", '{"marked_for_deletion": true,', 1))
    with Exchange(tmp_path) as exchange:
        (answer,) = metadata(exchange, "orders")
        assert answer["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
        assert created(exchange, "orders")["error_code"] != 0


def enlarged(exchange, name, count, **options):
    topic = {"name": name, "count": count, "assignments": None}
    request = {"topics": [topic], "validate_only": False} | options
    (answer,) = exchange("CreatePartitions", 1, request)["results"]
    return answer["error_code"]


def test_enlarge(exchange):
    exchange.create("orders", 2)
    exchange.produce(set_of([(None, b"a")]), partition=1)
    assert enlarged(exchange, "orders", 3, validate_only=True) == 0
    assert exchange.writer.topic("orders").partitions == 2
    assert enlarged(exchange, "orders", 4) == 0
    assert len(metadata(exchange, "orders")[0]["partitions"]) == 4
    assert exchange.produce(set_of([(None, b"b")]), partition=3)["error_code"] == 0
    assert exchange.produce(set_of([(None, b"b")]), partition=1)["base_offset"] == 1
    for count in (4, 3, 0, -1, 1 << 30):
        assert enlarged(exchange, "orders", count) == Code.INVALID_PARTITIONS
    assert enlarged(exchange, "nothing", 4) == Code.UNKNOWN_TOPIC_OR_PARTITION


# ---- settings


def described(exchange, kind, name, keys=None, version=1):
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    (answer,) = exchange("DescribeConfigs", version, {"resources": [resource]})["results"]
    return answer


@pytest.mark.parametrize("version", range(3))
def test_settings_of_a_topic(exchange, version):
    created(exchange, "orders", configs=[("segment.bytes", "5000")])
    answer = described(exchange, TOPIC_RESOURCE, "orders", version=version)
    found = {each["name"]: each["value"] for each in answer["configs"]}
    assert found["segment.bytes"] == "5000"
    assert found["index.interval.bytes"] == "4096"
    own = ["segment.bytes"]
    answer = described(exchange, TOPIC_RESOURCE, "orders", own, version)
    assert [each["name"] for each in answer["configs"]] == own


def test_settings_of_the_broker_and_of_what_is_not_there(tmp_path):
    with Exchange(tmp_path, num_partitions=3) as exchange:
        answer = described(exchange, BROKER_RESOURCE, "0")
        found = {each["name"]: each["value"] for each in answer["configs"]}
        assert found["num.partitions"] == "3"
        assert found["auto.create.topics.enable"] == "false"
        answer = described(exchange, TOPIC_RESOURCE, "n" * 32_767)
        assert answer["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
        assert described(exchange, 77, "x")["error_code"] == Code.INVALID_REQUEST


def test_topics_that_cannot_be_read_are_told_and_the_others_served(tmp_path):
    with Exchange(tmp_path) as exchange:
        exchange.create("orders")
    (tmp_path / "broken.json").write_text("rubbish")
    with Exchange(tmp_path) as exchange:
        (told,) = exchange.served.broken
        assert "broken.json" in told
        assert metadata(exchange, "orders")[0]["error_code"] == 0
        assert created(exchange, "broken")["error_code"] != 0


def test_documented_topic_is_served_as_it_is(tmp_path):
    exchange = Exchange(tmp_path)
    exchange.writer.create_topic(Topic("docs", 2))
    exchange.__exit__()
    with Exchange(tmp_path) as again:
        assert len(metadata(again, "docs")[0]["partitions"]) == 2
        assert created(again, "docs")["error_code"] == Code.TOPIC_ALREADY_EXISTS
