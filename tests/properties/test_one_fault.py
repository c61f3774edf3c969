"""Reading a log with one wrong offset or one segment less: the truth, or damage with its place."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from kminilog.errors import CorruptLogError, OffsetOutOfRangeError
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import Message
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from tests.support.damage import message_positions
from tests.support.properties.expected_layout import KeyValue
from tests.support.properties.strategies import key_values, settings_that_hold

ORDERS_0 = TopicPartition("orders", 0)
Place = tuple[Path, int]


def write_log(
    directory: Path,
    dialect: Dialect,
    settings: TopicSettings,
    messages: list[KeyValue],
    first_offset: int,
) -> PartitionLog:
    base_offset = dialect.base_offset_for(first_offset)
    log = PartitionLog.open(directory, ORDERS_0, dialect, settings, base_offset=base_offset)
    log.append(messages)
    return log


def places_of(log: PartitionLog) -> dict[int, Place]:
    """Where the message with each offset stands."""
    paths = [segment.log_path for segment in log.segments()]
    places = [(p, at) for p in paths for at in message_positions(p.read_bytes())[:-1]]
    return dict(enumerate(places, start=log.log_start_offset))


def assert_true_or_damaged(
    reader: PartitionReader, written: dict[int, KeyValue], broken: range, place: Place
) -> None:
    """Each question is answered with the truth; damage is told where it is, and nowhere else.

    `broken` are the offsets whose messages are not there any more, `place` is where that shows.
    """

    def check(ask: Callable[[int], list[Message]], offset: int) -> list[int]:
        damage, messages = None, []
        try:
            messages = ask(offset)
        except CorruptLogError as error:
            damage = (Path(error.path), error.position)
        assert damage in (None, place)
        for message in messages:
            assert (message.key, message.value) == written[message.offset]
            assert message.offset not in broken
        return [message.offset for message in messages]

    def find(offset: int) -> list[Message]:
        return [reader.find(offset).message]

    end = max(written) + 1
    assert reader.log_end_offset in (end, broken.start)
    in_turn, offset = [], min(written)
    while found := check(lambda o: reader.read(o, 300), offset):
        in_turn += found
        offset = found[-1] + 1
    assert in_turn == list(range(min(written), broken.start))
    for offset in written:
        assert check(find, offset) in ([offset], [])
        assert check(lambda o: reader.read(o, 1), offset) in ([offset], [])
    for offset in (end, end + 7, MAX_OFFSET):
        try:
            assert check(lambda o: reader.read(o, 10**6), offset) == []
            assert check(find, offset) == []
        except OffsetOutOfRangeError:
            continue


@given(data=st.data(), dialect=st.sampled_from([DOCUMENTED, KAFKA]), first=st.sampled_from([0, 9]))
def test_read_with_one_wrong_offset_gives_the_truth_or_the_place(data, dialect, first):
    messages = data.draw(st.lists(key_values(dialect), min_size=1, max_size=20))
    settings = data.draw(settings_that_hold(dialect, messages))
    with TemporaryDirectory() as path:
        log = write_log(Path(path), dialect, settings, messages, first)
        places = places_of(log)
        changed = data.draw(st.sampled_from(sorted(places)))
        near = st.integers(0, max(places) + 3)
        flipped = st.integers(0, 62).map(lambda bit: changed ^ (1 << bit))
        wrong = data.draw(st.one_of(near, flipped).filter(lambda offset: offset != changed))
        file, position = places[changed]
        with open(file, "r+b") as opened:
            opened.seek(position)
            opened.write(wrong.to_bytes(8))
        reader = PartitionReader(Path(path), ORDERS_0, dialect, settings)
        written = dict(enumerate(messages, start=first))
        assert_true_or_damaged(reader, written, range(changed, changed + 1), places[changed])


@given(data=st.data(), dialect=st.sampled_from([DOCUMENTED, KAFKA]), first=st.sampled_from([0, 9]))
def test_read_without_one_segment_gives_the_truth_or_the_place(data, dialect, first):
    messages = data.draw(st.lists(key_values(dialect), min_size=6, max_size=30))
    settings = data.draw(settings_that_hold(dialect, messages))
    with TemporaryDirectory() as path:
        log = write_log(Path(path), dialect, settings, messages, first)
        segments = log.segments()
        if len(segments) < 3:
            return
        slot = data.draw(st.integers(1, len(segments) - 2))
        segments[slot].remove()
        lost = range(segments[slot].first_offset, segments[slot + 1].first_offset)
        reader = PartitionReader(Path(path), ORDERS_0, dialect, settings)
        written = dict(enumerate(messages, start=first))
        assert_true_or_damaged(reader, written, lost, (segments[slot + 1].log_path, 0))
