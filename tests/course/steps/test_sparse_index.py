import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.course.steps.sparse_index import MOST_MESSAGES, document
from kminilog.errors import SettingError
from kminilog.explain.documents_log import LATER_BYTES, write_documents_log
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.index_entry import decode_entries, due_entries
from kminilog.format.message import scan
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of
from tests.support.damage import index_entries, message_positions, offsets_in

both_dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)
NAMED = {one.name: one for one in DIALECTS.values()}
intervals = st.one_of(st.integers(0, 500), st.sampled_from([248, 249, 300, 497, 4096]))


def made(dialect=DOCUMENTED, *settings):
    return document(dialect, *settings)


def rights(made_document):
    asks = [step.ask for step in made_document.steps if step.ask]
    return [choice.answer for ask in asks for choice in ask.choices if choice.is_right]


@given(st.sampled_from([*DIALECTS.values()]), intervals, st.integers(1, 60))
def test_sparse_index_final_state_is_the_index_and_what_the_rule_gives(
    dialect, interval_bytes, count
):
    done = made(dialect, interval_bytes, count)
    log, index = (file.data for file in done.files)
    base_offset = int(done.files[0].name.removesuffix(".log"))
    rows = [row[1:3] for row in done.final.tables[0].rows]
    assert rows == index_entries(index) == decode_entries(index)
    messages = [(outcome.offset, position) for position, outcome in scan(dialect, log)]
    assert len(messages) == count
    assert rows == list(due_entries(messages, base_offset, interval_bytes))
    assert done.final.values["entries by the rule"] == len(rows)


@given(st.sampled_from([*DIALECTS.values()]), intervals, st.integers(1, 30))
def test_sparse_index_says_of_each_message_if_it_is_due(dialect, interval_bytes, count):
    done = made(dialect, interval_bytes, count)
    log, index = (file.data for file in done.files)
    steps = [step for step in done.steps if "gets an entry" in step.state.values]
    assert [step.state.values["position"] for step in steps] == message_positions(log)[:-1]
    due = [
        offset
        for offset, step in zip(offsets_in(log), steps, strict=True)
        if step.state.values["gets an entry"] == "yes"
    ]
    base_offset = int(done.files[0].name.removesuffix(".log"))
    assert due == [base_offset + relative for relative, _ in index_entries(index)]
    entries = [f for step in steps for f in step.focus if f.file.endswith(".index")]
    assert [(f.start, f.end) for f in entries] == [(8 * n, 8 * n + 8) for n in range(len(due))]


@pytest.mark.parametrize(("dialect", "entry"), [(DOCUMENTED, "3, 497"), (KAFKA, "2, 497")])
def test_sparse_index_has_the_entry_of_the_documents(dialect, entry):
    done = made(dialect)
    assert rights(done)[1] == entry
    (table,) = [t for step in done.steps for t in step.state.tables if "first" in t.title]
    assert [row[2:] for row in table.rows] == [(368_772, 3, 497), (368_772, 2, 497)]


@both_dialects
def test_sparse_index_asks_for_entry_limit_and_size(dialect):
    first, _, *later, size = rights(made(dialect))
    assert (first, *later, size) == ("no, it must be more", "yes", "yes", "32")


def test_sparse_index_is_the_segment_that_the_example_of_the_documents_has(tmp_path):
    """Both are named 368769, so they must be the same, as far as the shorter one goes."""
    log, index = made(DOCUMENTED).files
    directory = tmp_path / str(write_documents_log(tmp_path))
    entries = decode_entries((directory / index.name).read_bytes()[: len(index.data)])
    assert entries == decode_entries(index.data)
    assert [tuple(entry) for entry in entries[:3]] == [(3, 497), (6, 1407), (8, 1686)]
    with open(directory / log.name, "rb") as file:
        whole = file.read(len(log.data))
    assert [*message_positions(whole)] == [*message_positions(log.data)]
    assert offsets_in(whole) == offsets_in(log.data)
    assert whole[-LATER_BYTES:][:12] == log.data[-LATER_BYTES:][:12]


@both_dialects
def test_sparse_index_with_kafkas_interval_has_no_entry_for_few_messages(dialect):
    done = made(dialect, 4096)
    assert done.final.tables[0].rows == ()
    assert done.final.values["index bytes"] == 0


def test_sparse_index_refuses_impossible_numbers():
    with pytest.raises(SettingError):
        made(KAFKA, -1)
    for count in (0, MOST_MESSAGES + 1):
        with pytest.raises(ValueError, match=f"give 1 to {MOST_MESSAGES}"):
            made(KAFKA, 300, count)


@both_dialects
def test_sparse_index_shows_as_many_messages_as_it_takes(dialect):
    done = made(dialect, 0, MOST_MESSAGES)
    assert done.final.values["messages"] == MOST_MESSAGES


@pytest.mark.parametrize("seed", range(48))
def test_sparse_index_says_of_each_message_what_the_rule_by_hand_gives(seed):
    chance = random.Random(seed)
    dialect = oracle.BOTH[seed % 2]
    interval = chance.choice((0, 1, 39, 40, 41, 248, 249, 497, 4096, chance.randrange(900)))
    done = made(NAMED[dialect], interval, chance.choice((1, 2, 14, 30, 100)))
    log = done.files[0].data
    base, held = int(done.files[0].name[:20]), oracle.places(dialect, log)
    due = dict(oracle.due(base, held, interval))
    assert [tuple(row[1:3]) for row in done.final.tables[0].rows] == [*due.items()]
    indexed = {0: 0} | {base + relative: position for relative, position in due.items()}
    for step in done.steps:
        if (said := re.match(r"Message (\d+) begins at byte (\d+)", step.say)) and said[2] != "0":
            place = next(one for one in held if one.offset == int(said[1]))
            last = max(at for offset, at in indexed.items() if offset < place.offset)
            far = [place.start - last, *([last] if last else [])]
            numbers = oracle.numbers(step.say.partition(" (To save")[0])
            assert numbers[: 3 + len(far)] == [place.offset, place.start, *far, interval]
            assert ("gets an entry of" in step.say) == (place.offset in indexed)
            if place.offset in indexed:
                entry = [place.offset - base, place.start]
                assert numbers[-2:] == entry
    oracle.assert_one_thing_is_one(words_of(done))
    check_gap(done, held)


def check_gap(done, held):
    """What is left out is in the middle, and the step after it says how many there are."""
    shown = [int(n) for s in done.steps for n in re.findall(r"^Message (\d+) begins", s.say)]
    if len(shown) < len(held):
        at = next(n for n in range(1, len(shown)) if shown[n] != shown[n - 1] + 1)
        told = next(step.say for step in done.steps if step.say.startswith(f"Message {shown[at]} "))
        assert f"(To save room, {shown[at] - shown[at - 1] - 1} steps before this one are" in told
    assert shown[-1] == held[-1].offset
    assert any("in both dialects" in s.say for s in done.steps) == bool(done.final.tables[0].rows)


def test_sparse_index_asks_after_the_beginning_where_no_entry_is_before():
    questions = [step.ask.question for step in made().steps if step.ask]
    assert "Message 368771 begins exactly 248 bytes after the beginning." in questions[0]
