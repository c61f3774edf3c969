"""Where segments meet: which of them holds an offset, for the writer and for a reader."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.errors import OffsetOutOfRangeError
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import encoded_bytes
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.segment.lookup import segment_slot
from kminilog.storage.topics import Topic
from tests.support.damage import files_of, index_entries, offsets_in
from tests.support.properties.strategies import key_values, settings_that_hold

ORDERS_0 = TopicPartition("orders", 0)


def holder_of(files: dict[str, bytes], offset: int) -> str:
    """The `.log` in which the message stands, found by reading all of them."""
    (name,) = (n for n, data in files.items() if n.endswith(".log") and offset in offsets_in(data))
    return name


@given(
    data=st.data(),
    dialect=st.sampled_from([DOCUMENTED, KAFKA]),
    base_offset=st.sampled_from([0, 1, 7, 2**31 - 3, 2**62]),
)
def test_find_at_each_segment_boundary_finds_the_message(data, dialect, base_offset):
    messages = data.draw(st.lists(key_values(dialect), min_size=1, max_size=25))
    settings = data.draw(settings_that_hold(dialect, messages))
    with TemporaryDirectory() as path:
        directory = Path(path)
        log = PartitionLog.open(directory, ORDERS_0, dialect, settings, base_offset=base_offset)
        for message in messages:
            log.append([message])
            if data.draw(st.integers(0, 9)) == 0:
                log.roll()
        start, end = log.log_end_offset - len(messages), log.log_end_offset
        files = files_of(directory)
        boundaries = {int(name[:20]) for name in files}
        for offset in sorted({b + n for b in boundaries for n in (-1, 0, 1)}):
            for reader in (log.reader, PartitionReader(directory, ORDERS_0, dialect, settings)):
                if not start <= offset < end:
                    if offset >= 0:
                        with pytest.raises(OffsetOutOfRangeError):
                            reader.find(offset)
                    continue
                found = reader.find(offset)
                message = found.message
                assert message.offset == offset
                assert (message.key, message.value) == messages[offset - start]
                holder = holder_of(files, offset)
                assert found.segment.log_path.name == holder
                bases = sorted(boundaries)
                assert f"{bases[segment_slot(dialect, bases, offset)]:020d}.log" == holder
        log.close()


# ---- the documents' worked example


def log_that_rolls_at(
    path: Path, roll_at: int, dialect: Dialect = DOCUMENTED, count: int = 10
) -> LogDir:
    """A log dir whose log starts shortly before `roll_at` and begins a segment after it."""
    with LogDirWriter.open(path, create=True) as writer:
        base_offset = dialect.base_offset_for(roll_at - 2)
        writer.create_topic(Topic("orders", 1, dialect), base_offset=base_offset)
        log = writer.log(ORDERS_0)
        log.append((None, b"message %d" % offset) for offset in range(roll_at - 2, roll_at + 1))
        log.roll()
        following = range(roll_at + 1, roll_at + 1 + count)
        assert log.append((None, b"message %d" % offset) for offset in following) == following
    return LogDir(path)


def find(log_dir: LogDir, offset: int) -> tuple[str, bytes | None]:
    found = log_dir.reader(ORDERS_0).find(offset)
    assert found.message.offset == offset
    return found.segment.name, found.message.value


def test_find_368776_is_in_the_segment_named_368769(tmp_path):
    log_dir = log_that_rolls_at(tmp_path, 368_769)
    assert find(log_dir, 368_776) == ("00000000000000368769", b"message 368776")


def test_segment_named_368769_begins_with_368770(tmp_path):
    log_dir = log_that_rolls_at(tmp_path, 368_769)
    path = tmp_path / "orders-0" / "00000000000000368769.log"
    assert offsets_in(path.read_bytes())[0] == 368_770
    assert find(log_dir, 368_770) == ("00000000000000368769", b"message 368770")


def test_find_368769_is_in_the_segment_before_the_one_of_that_name(tmp_path):
    log_dir = log_that_rolls_at(tmp_path, 368_769)
    assert find(log_dir, 368_769) == ("00000000000000368766", b"message 368769")


def test_find_737338_is_the_first_of_the_segment_named_737337(tmp_path):
    log_dir = log_that_rolls_at(tmp_path, 737_337)
    assert find(log_dir, 737_338) == ("00000000000000737337", b"message 737338")
    path = tmp_path / "orders-0" / "00000000000000737337.log"
    assert offsets_in(path.read_bytes())[0] == 737_338


def test_find_368769_in_the_kafka_dialect_is_the_first_of_the_segment_of_that_name(tmp_path):
    log_dir = log_that_rolls_at(tmp_path, 368_768, KAFKA)
    assert find(log_dir, 368_769) == ("00000000000000368769", b"message 368769")
    assert find(log_dir, 368_768) == ("00000000000000368766", b"message 368768")


def test_find_with_the_three_names_of_the_document_probes_only_names(tmp_path):
    """Two short logs, the second moved after the first: the names of S1 5.1 in one directory."""
    log_that_rolls_at(tmp_path / "a", 368_769)
    log_that_rolls_at(tmp_path / "b", 737_337)
    target = tmp_path / "a" / "orders-0"
    for path in (tmp_path / "b" / "orders-0").glob("*737337.*"):
        shutil.move(path, target)
    log_dir = LogDir(tmp_path / "a")
    assert find(log_dir, 368_769)[0] == "00000000000000368766"
    assert find(log_dir, 368_776)[0] == "00000000000000368769"
    assert find(log_dir, 737_338)[0] == "00000000000000737337"


def test_index_entry_of_the_worked_example_means_offset_368772(tmp_path):
    first, second = (None, bytes(226)), (None, bytes(227))
    assert sum(encoded_bytes(DOCUMENTED, *message) for message in (first, second)) == 497
    settings = TopicSettings(index_interval_bytes=400)
    log = PartitionLog.open(tmp_path, ORDERS_0, DOCUMENTED, settings, base_offset=368_769)
    log.append([first, second, (b"third", b"message of this file")])
    data = (tmp_path / "00000000000000368769.index").read_bytes()
    assert index_entries(data) == [(3, 497)]
    located = log.reader.find(368_772)
    assert (located.index_entry, located.position, located.scanned_messages) == ((3, 497), 497, 1)
    assert located.message.key == b"third"


@pytest.mark.soak
def test_log_of_737340_messages_has_the_names_of_the_document(tmp_path):
    log = PartitionLog.open(tmp_path, ORDERS_0, DOCUMENTED, TopicSettings())
    for last_of_segment in (368_769, 737_337):
        log.append((None, b"%d" % n) for n in range(log.log_end_offset, last_of_segment + 1))
        log.roll()
    log.append((None, b"%d" % n) for n in range(737_338, 737_341))
    names = sorted(path.name for path in tmp_path.glob("*.log"))
    assert [int(name[:20]) for name in names] == [0, 368_769, 737_337]
    for offset, name in {368_769: 0, 368_770: 368_769, 368_776: 368_769, 737_338: 737_337}.items():
        found = log.reader.find(offset)
        assert (found.segment.base_offset, found.message.value) == (name, b"%d" % offset)
