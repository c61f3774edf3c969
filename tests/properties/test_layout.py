"""Layout is a function of the messages and the settings, and of nothing else."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.topics import Topic
from tests.support.damage import files_of
from tests.support.invariants import check_log
from tests.support.properties.expected_layout import KeyValue
from tests.support.properties.strategies import expected_log, key_values, settings_that_hold

ORDERS_0 = TopicPartition("orders", 0)
START_OFFSETS = [0, 1, 368_769]


@st.composite
def written(draw: st.DrawFn) -> tuple[Dialect, TopicSettings, list[KeyValue]]:
    dialect = draw(st.sampled_from([DOCUMENTED, KAFKA]))
    messages = draw(st.lists(key_values(dialect), max_size=25))
    return dialect, draw(settings_that_hold(dialect, messages)), messages


@st.composite
def batches(draw: st.DrawFn, messages: list[KeyValue]) -> list[list[KeyValue]]:
    """The messages in order, cut into batches at random places; some batches are empty."""
    cuts = sorted(draw(st.lists(st.integers(0, len(messages)), max_size=8)))
    bounds = zip([0, *cuts], [*cuts, len(messages)], strict=True)
    return [messages[start:end] for start, end in bounds]


def expected_files(
    dialect: Dialect, settings: TopicSettings, messages: Iterable[KeyValue], base_offset: int = 0
) -> dict[str, bytes]:
    log = expected_log(dialect, settings, base_offset)
    for message in messages:
        log.append(*message)
    return log.files()


@given(written(), st.sampled_from(START_OFFSETS))
def test_append_one_by_one_gives_the_files_that_the_rules_say(case, base_offset):
    dialect, settings, messages = case
    with TemporaryDirectory() as path:
        directory = Path(path)
        log = PartitionLog.open(directory, ORDERS_0, dialect, settings, base_offset=base_offset)
        for message in messages:
            log.append([message])
        log.close()
        assert files_of(directory) == expected_files(dialect, settings, messages, base_offset)


@given(written(), st.data())
def test_append_in_any_batches_gives_the_same_files(case, data):
    dialect, settings, messages = case
    with TemporaryDirectory() as path:
        log = PartitionLog.open(Path(path), ORDERS_0, dialect, settings)
        for batch in data.draw(batches(messages)):
            log.append(batch)
        log.close()
        assert files_of(Path(path)) == expected_files(dialect, settings, messages)


@given(written(), st.data())
def test_append_with_reopenings_gives_the_same_files(case, data):
    dialect, settings, messages = case
    with TemporaryDirectory() as path:
        for batch in data.draw(batches(messages)):
            log = PartitionLog.open(Path(path), ORDERS_0, dialect, settings)
            log.append(batch)
            log.close()
        log = PartitionLog.open(Path(path), ORDERS_0, dialect, settings)
        check_log(log)
        log.close()
        assert files_of(Path(path)) == expected_files(dialect, settings, messages)


@given(written(), st.data())
@pytest.mark.usefixtures("without_fsync")
def test_layout_does_not_show_who_wrote(case, data):
    """Openings of the whole log dir in between: after clean and unclean stops, and with every
    index gone."""
    dialect, settings, messages = case
    with TemporaryDirectory() as path:
        log_dir = Path(path)
        with LogDirWriter.open(log_dir) as writer:
            writer.create_topic(Topic("orders", 1, dialect, settings))
        for batch in data.draw(batches(messages)):
            if data.draw(st.booleans(), label="unclean"):
                (log_dir / CLEAN_SHUTDOWN_FILE).unlink()
            if data.draw(st.booleans(), label="without indexes"):
                delete_indexes(log_dir / "orders-0")
            with LogDirWriter.open(log_dir) as writer:
                log = writer.log(ORDERS_0)
                log.append(batch)
                check_log(log)
        assert files_of(log_dir / "orders-0") == expected_files(dialect, settings, messages)


@pytest.mark.parametrize("is_clean", [True, False], ids=["clean", "unclean"])
@given(case=written())
@pytest.mark.usefixtures("without_fsync")
def test_open_with_every_index_deleted_rebuilds_identical_files(is_clean, case):
    dialect, settings, messages = case
    with TemporaryDirectory() as path:
        log_dir = Path(path)
        with LogDirWriter.open(log_dir) as writer:
            writer.create_topic(Topic("orders", 1, dialect, settings))
            writer.log(ORDERS_0).append(messages)
        if not is_clean:
            (log_dir / CLEAN_SHUTDOWN_FILE).unlink()
        delete_indexes(log_dir / "orders-0")
        with LogDirWriter.open(log_dir) as writer:
            writer.log(ORDERS_0)
        assert files_of(log_dir / "orders-0") == expected_files(dialect, settings, messages)


def delete_indexes(directory: Path) -> None:
    for path in directory.glob("*.index"):
        path.unlink()
