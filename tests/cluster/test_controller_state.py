import json
from pathlib import Path

import pytest

from kminilog.cluster.controller_state import STATE_FILE, ControllerState
from kminilog.cluster.leadership import Leadership
from kminilog.errors import LogDirError, LogDirLockedError, UnknownTopicOrPartitionError
from kminilog.format.dialect import KAFKA
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.topics import Topic

TOPIC = Topic("page-views", 2, KAFKA, TopicSettings(segment_bytes=512))
FIRST, SECOND = TOPIC.all_partitions()
BROKERS = [{"id": 0, "live": True}, {"id": 1, "live": True}]


def test_state_is_read_back_as_it_was_recorded(tmp_path):
    state = ControllerState.open(tmp_path / "new")
    begin = {p: Leadership.of_new_partition((1, 0)) for p in TOPIC.all_partitions()}
    state.record({}, {0: True, 1: True})
    state.add_topic(TOPIC, begin)
    state.record({SECOND: Leadership((1, 0), None, 3, (0,))}, {0: False, 1: True})
    state.close()
    again = ControllerState.open(tmp_path / "new")
    assert again.topics == {"page-views": TOPIC}
    assert again.partitions == begin | {SECOND: Leadership((1, 0), None, 3, (0,))}
    assert again.leadership(FIRST).leader == 1
    assert again.brokers == {0: False, 1: True}
    again.close()


def test_state_file_is_as_its_page_shows_it(tmp_path):
    state = ControllerState.open(tmp_path)
    topic = Topic("orders")
    orders = TopicPartition("orders", 0)
    state.record({}, {0: True, 1: True})
    state.add_topic(topic, {orders: Leadership.of_new_partition((0, 1))})
    state.record({orders: Leadership((0, 1), 0, 0, (0,))}, {0: True, 1: False})
    assert json.loads((tmp_path / STATE_FILE).read_bytes()) == {
        "brokers": [{"id": 0, "live": True}, {"id": 1, "live": False}],
        "topics": [{"topic": "orders", "partitions": 1, "dialect": "documented", "config": {}}],
        "partitions": {
            "orders-0": {"replicas": [0, 1], "leader": 0, "leader_epoch": 0, "in_sync": [0]}
        },
    }
    state.close()


@pytest.mark.parametrize("partition", [TopicPartition("page-views", 2), TopicPartition("x", 0)])
def test_leadership_of_an_unknown_partition_is_an_error(tmp_path, partition):
    state = ControllerState.open(tmp_path)
    state.add_topic(TOPIC, {FIRST: Leadership.of_new_partition((0,))})
    with pytest.raises(UnknownTopicOrPartitionError):
        state.leadership(partition)
    state.close()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"topics": [], "partitions": {}}',
        '{"brokers": {}, "topics": [], "partitions": {}}',
        '{"brokers": [], "topics": [{"topic": "a/b"}], "partitions": {}}',
        '{"brokers": [], "topics": [], "partitions": []}',
        '{"brokers": [], "topics": [], "partitions": {"orders": {}}}',
        '{"brokers": [], "topics": [], "partitions": {"orders-0": {"replicas": 1}}}',
    ],
)
def test_open_with_a_broken_file_says_so_and_lets_go(tmp_path, text):
    (tmp_path / STATE_FILE).write_text(text)
    for _ in range(2):
        with pytest.raises(LogDirError, match="mend it or move it away"):
            ControllerState.open(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": []},
        {"replicas": [0, 0]},
        {"replicas": [0, -1]},
        {"replicas": [0, True]},
        {"leader": 2},
        {"leader": "0"},
        {"leader_epoch": -1},
        {"leader_epoch": 0.5},
        {"in_sync": []},
        {"in_sync": [0, 2]},
        {"in_sync": "01"},
    ],
)
def test_open_with_a_leadership_that_cannot_be_says_so(tmp_path, change):
    sound = {"replicas": [0, 1], "leader": 0, "leader_epoch": 0, "in_sync": [0, 1]}
    topics = [Topic("orders", 1).to_json()]
    state = {"brokers": BROKERS, "topics": topics, "partitions": {"orders-0": sound}}
    write_state(tmp_path, state)
    ControllerState.open(tmp_path).close()
    write_state(tmp_path, {**state, "partitions": {"orders-0": {**sound, **change}}})
    with pytest.raises(LogDirError, match="holds no state of a cluster"):
        ControllerState.open(tmp_path)


@pytest.mark.parametrize(
    ("brokers", "what"),
    [
        (BROKERS[:1], "a replica is on none of the brokers"),
        ([*BROKERS, {"id": 1, "live": True}], "names a broker twice"),
        ([BROKERS[1], {"id": 0, "live": False}], "the leader is not live"),
        ([{"id": -1, "live": True}], "-1 is outside of 0 to 99"),
        ([{"id": 100, "live": True}], "100 is outside of 0 to 99"),
        ([{"id": "../x", "live": True}], "is no int"),
        ([{"id": 0, "live": 1}], "1 is no bool"),
        ([{"id": 0}], "'live' is missing"),
        ([7], "7 is no dict"),
        ({"0": True}, "is no list"),
    ],
)
def test_open_with_brokers_that_cannot_be_says_so(tmp_path, brokers, what):
    sound = {"replicas": [0, 1], "leader": 0, "leader_epoch": 0, "in_sync": [0, 1]}
    topics = [Topic("orders", 1).to_json()]
    state = {"brokers": brokers, "topics": topics, "partitions": {"orders-0": sound}}
    write_state(tmp_path, state)
    with pytest.raises(LogDirError, match=what):
        ControllerState.open(tmp_path)


@pytest.mark.parametrize("names", [[], ["orders-1"], ["orders-0", "orders-1"], ["others-0"]])
def test_open_with_other_partitions_than_those_of_the_topics_says_so(tmp_path, names):
    sound = {"replicas": [0], "leader": None, "leader_epoch": 3, "in_sync": [0]}
    partitions = dict.fromkeys(names, sound)
    topics = [Topic("orders", 1).to_json()]
    write_state(tmp_path, {"brokers": BROKERS, "topics": topics, "partitions": partitions})
    with pytest.raises(LogDirError, match="the partitions are not those of the topics"):
        ControllerState.open(tmp_path)


def write_state(directory: Path, state: object) -> None:
    (directory / STATE_FILE).write_text(json.dumps(state))


def test_open_twice_is_refused(tmp_path):
    state = ControllerState.open(tmp_path)
    with pytest.raises(LogDirLockedError):
        ControllerState.open(tmp_path)
    state.close()
    ControllerState.open(tmp_path).close()
