import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.clock import ManualClock
from kminilog.cluster.standalone import StandaloneBroker
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.readers import LogDirSource
from kminilog.course.steps.journey import BEFORE, COMPANION, MOST_BYTES, SETTINGS, document
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.names import TopicPartition
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.record import ProducerRecord
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.text import shown
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of

pytestmark = pytest.mark.usefixtures("without_fsync")
lines = st.binary(max_size=120) | st.builds(
    lambda key, value: key + b":" + value,
    st.binary(max_size=30) | st.sampled_from([b"\xff", b"<b>&", b"\x1b[2J", b"caf\xc3\xa9"]),
    st.binary(max_size=60),
)
dialects = st.sampled_from(list(DIALECTS.values()))


def journey(line, **more):
    return document(line, chance=Random(0), **more)


def stored_by_hand(path, line, dialect, partitions):
    """Send the same messages by the public classes, and return place, position, commit."""
    clock, chance = ManualClock(), Random(0)
    key, separator, value = line.partition(b":")
    if not separator:
        key, value = None, line
    with LogDirWriter.open(path) as writer:
        writer.create_topic(Topic("orders", partitions, dialect, SETTINGS))
        broker = StandaloneBroker(writer, clock)
        with ManualProducer(broker, clock=clock, chance=chance) as producer:
            for name, earlier in BEFORE:
                producer.send(ProducerRecord("orders", name.encode(), b"1000 " + earlier.encode()))
            producer.flush()
            producer.send(ProducerRecord("orders", key, b"1500 " + COMPANION.encode()))
            future = producer.send(ProducerRecord("orders", key, b"1500 " + value))
    topic, partition, offset = future.result()
    located = LogDir(path).reader(TopicPartition(topic, partition)).find(offset)
    source = LogDirSource(LogDir(path))
    coordinator = Coordinator(path, source.topics, source.topic_id, clock=clock, chance=chance)
    config = {"group.id": "g", "auto.offset.reset": "earliest"}
    with Consumer(source, config, clock=clock, coordinator=coordinator) as consumer:
        consumer.subscribe(["orders"])
        while not consumer.poll():
            pass
        consumer.commit()
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "position": located.position,
        "key": shown(key, 60),
        "value": shown(b"1500 " + value, 60),
        "committed offset": coordinator.committed("g")[TopicPartition(topic, partition)],
    }


@given(lines, dialects, st.integers(1, 6))
def test_journey_final_state_is_what_the_public_api_returns(line, dialect, partitions):
    made = journey(line, dialect=dialect, partitions=partitions)
    with tempfile.TemporaryDirectory() as path:
        assert made.final.values == stored_by_hand(Path(path), line, dialect, partitions)


@given(lines, st.integers(1, 20))
def test_journey_of_a_line_with_a_key_ends_where_murmur2_says(line, partitions):
    key, found, _ = line.partition(b":")
    if found:
        final = journey(line, partitions=partitions).final.values
        assert final["partition"] == murmur2_partition(key, partitions)


@pytest.mark.parametrize("dialect", [DOCUMENTED, KAFKA])
def test_journey_bytes_in_focus_are_the_message(dialect):
    made = journey(b"alice:book", dialect=dialect)
    (written,) = [step for step in made.steps if step.say.startswith("The leader writes")]
    (place,) = written.focus
    fields = {
        f.name: f.value for f in made.fields if f.file == place.file and f.start >= place.start
    }
    assert (fields["key"], fields["value"]) == ("alice", "1500 book")
    assert fields["offset"] == made.final.values["offset"]
    assert ("value length" in fields) == dialect.has_value_length


def test_journey_shows_the_log_before_and_after():
    made = journey(b"alice:book")
    (leader,) = [step for step in made.steps if step.say.startswith("The batch goes")]
    log = next(file for file in made.files if file.name.endswith(".log"))
    assert leader.state.ends[log.name] == leader.state.values["log bytes"] < log.end
    assert made.final.ends[log.name] == log.end == log.size_bytes


def test_journey_asks_with_the_usual_mistakes():
    asked = {
        step.ask.question: [c.answer for c in step.ask.choices if c.is_right]
        for step in journey(b"customer-20:two teapots").steps
        if step.ask
    }
    assert list(asked.values()) == [
        ["the producer, by a hash of the key"],
        ["1"],
        ["452"],
        ["13"],
    ]


def test_journey_without_a_key_asks_for_the_open_batch():
    made = journey(b"no separator here")
    first = next(step.ask for step in made.steps if step.ask)
    assert [c.answer for c in first.choices if c.is_right] == [
        "the producer: the partition whose batch is open"
    ]
    assert made.final.values["key"] == "null"


def test_journey_takes_the_seed_for_messages_without_a_key():
    places = {
        document(b"x", chance=Random(seed), partitions=6).final.values["partition"]
        for seed in range(10)
    }
    assert len(places) > 1


def test_journey_of_a_separator_of_several_bytes():
    final = journey(b"a:=b:=c", separator=b":=").final.values
    assert (final["key"], final["value"]) == ('"a"', '"1500 b:=c"')


def test_journey_of_the_longest_line_and_of_one_that_is_too_long():
    assert journey(bytes(MOST_BYTES)).final.values["committed offset"] > 0
    with pytest.raises(ValueError, match=r"a line of 16385 bytes; .* 16384 at most"):
        journey(bytes(MOST_BYTES + 1))


def test_journey_refuses_an_empty_separator_and_impossible_partitions():
    with pytest.raises(ValueError, match="separator"):
        journey(b"a:b", separator=b"")
    with pytest.raises(ValueError, match="partitions"):
        journey(b"a:b", partitions=0)


@pytest.mark.parametrize("partitions", range(1, 21))
@pytest.mark.parametrize("dialect", [DOCUMENTED, KAFKA], ids=str)
def test_journey_tells_of_a_binary_search_only_where_there_are_entries(dialect, partitions):
    found = journey(b"customer-20:two teapots", dialect=dialect, partitions=partitions)
    (search,) = [
        step
        for step in found.steps
        if "so reading begins" in step.say or "binary search" in step.say
    ]
    (index,) = [
        step for step in found.steps if "index entry" in step.say and "entries" in step.state.values
    ]
    has_entries = index.state.values["entries"] > 0
    assert ("A binary search" in search.say) == bool(search.state.tables) == has_entries
    assert bool(index.state.tables) == has_entries
    for step in found.steps:
        assert all(table.rows for table in step.state.tables)
    oracle.assert_one_thing_is_one(words_of(found))
