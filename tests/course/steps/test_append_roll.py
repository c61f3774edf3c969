from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.course.steps.append_roll import INTERVAL_BYTES, document
from kminilog.errors import MessageTooLargeError, SettingError
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition_log import PartitionLog
from kminilog.storage.partition_reader import PartitionReader
from tests.support.damage import files_of

dialects = st.sampled_from([*DIALECTS.values()])
ORDERS = TopicPartition("orders", 0)


def questions(made):
    return [step.ask for step in made.steps if step.ask]


def right(ask):
    return next(choice.answer for choice in ask.choices if choice.is_right)


@given(dialects, st.lists(st.binary(max_size=60), max_size=30), st.integers(86, 300))
def test_append_roll_final_state_is_what_a_reader_lists(dialect, messages, segment_bytes):
    settings = TopicSettings(segment_bytes=segment_bytes, index_interval_bytes=INTERVAL_BYTES)
    made = document(dialect, messages, segment_bytes)
    with TemporaryDirectory() as directory:
        log = PartitionLog.open(Path(directory), ORDERS, dialect, settings)
        log.append((None, message) for message in messages)  # as one batch
        reader = PartitionReader(Path(directory), ORDERS, dialect, settings)
        rows = [
            (s.name, s.first_offset, s.end_offset(), s.file_bytes, len(s.index))
            for s in reader.segments()
        ]
        assert made.final.tables[0].rows == tuple(rows)
        assert made.final.values["log end offset"] == reader.log_end_offset == len(messages)
        files = files_of(Path(directory))
    assert {file.name: file.data for file in made.files} == files
    assert made.final.ends == {name: len(data) for name, data in files.items()}


@given(dialects, st.lists(st.binary(max_size=60), max_size=20), st.integers(86, 200))
def test_append_roll_shows_each_message_once_where_it_stands(dialect, messages, segment_bytes):
    made = document(dialect, messages, segment_bytes)
    logs = [focus for step in made.steps for focus in step.focus if focus.file.endswith(".log")]
    whole = {file.name: len(file.data) for file in made.files if file.name.endswith(".log")}
    assert len(logs) == len(messages)
    for name, size_bytes in whole.items():
        parts = [focus for focus in logs if focus.file == name]
        assert [0, *(f.end for f in parts)] == [*(f.start for f in parts), size_bytes]
    entries = [focus for step in made.steps for focus in step.focus if focus not in logs]
    assert sum(f.end - f.start for f in entries) == sum(
        len(file.data) for file in made.files if file.name.endswith(".index")
    )


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        (DOCUMENTED, ["00000000000000000003", "00000000000000000007"]),
        (KAFKA, ["00000000000000000003", "00000000000000000006"]),
    ],
    ids=["documented", "kafka"],
)
def test_append_roll_asks_for_the_names_of_the_new_files(dialect, names):
    asks = [ask for ask in questions(document(dialect)) if "What is the name" in ask.question]
    assert [right(ask) for ask in asks] == names
    for ask, name in zip(asks, names, strict=True):
        assert str(int(name)) in [choice.answer for choice in ask.choices]


def test_append_roll_asks_about_an_exact_fit():
    (ask,) = [ask for ask in questions(document()) if "exactly as large" in ask.question]
    assert right(ask) == "to byte 96 of this .log"


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)
def test_append_roll_of_a_first_segment_with_one_message_is_told_where_it_waits(dialect):
    made = document(dialect, [b"a", b"b", b"c"], 30)
    waits = [step.say for step in made.steps if "all the same" in step.say]
    assert len(waits) == (dialect is DOCUMENTED)
    assert [row[0][-1] for row in made.final.tables[0].rows] == (
        ["0", "1"] if dialect is DOCUMENTED else ["0", "1", "2"]
    )


def test_append_roll_shows_both_names_of_the_documents_example():
    (table,) = [t for s in document().steps for t in s.state.tables if "Names" in t.title]
    assert table.rows[-1] == (
        *(368_769, 368_770),
        *("00000000000000368769", "00000000000000368770"),
    )


def test_append_roll_refuses_what_no_segment_can_hold():
    with pytest.raises(MessageTooLargeError):
        document(KAFKA, [bytes(100)], 120)
    with pytest.raises(SettingError):
        document(KAFKA, [b""], 3)
    with pytest.raises(ValueError, match="bytes in a step-through"):
        document(KAFKA, [bytes(60_000)] * 2, 70_000)
