import os
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.course.steps.torn_tail import MESSAGES, document
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.message import encoded_bytes
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import carry_out, plan_recovery
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of
from tests.support.damage import files_of

SETTINGS = TopicSettings(segment_bytes=128, index_interval_bytes=50)
ORDERS = TopicPartition("orders", 0)
NAMED = {one.name: one for one in DIALECTS.values()}
both_dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)
LAST_BYTES = {dialect: encoded_bytes(dialect, None, MESSAGES[-1]) for dialect in DIALECTS.values()}


def open_log(directory, dialect):
    return PartitionLog.open(Path(directory), ORDERS, dialect, SETTINGS)


def listed(directory, dialect):
    reader = PartitionReader(Path(directory), ORDERS, dialect, SETTINGS)
    return tuple(
        (s.name, s.first_offset, s.end_offset(), s.file_bytes, len(s.index))
        for s in reader.segments()
    )


def recover(directory, dialect, messages, cut_bytes):
    """Crash, recover and append again without any step-through.

    Returns the plan, and the segments and the log end after the recovery and after the append.
    """
    log = open_log(directory, dialect)
    log.append((None, message) for message in messages)
    segment = log.segments()[-1]
    last_bytes = encoded_bytes(dialect, None, messages[-1])
    os.truncate(segment.log_path, segment.size_bytes - last_bytes + cut_bytes)
    plan = plan_recovery(PartitionReader(Path(directory), ORDERS, dialect, SETTINGS))
    carry_out(plan)
    reopened = open_log(directory, dialect)
    recovered = listed(directory, dialect), reopened.log_end_offset
    reopened.append([(None, messages[-1])])
    return plan, recovered, (listed(directory, dialect), reopened.log_end_offset)


@st.composite
def crashes(draw):
    dialect = draw(st.sampled_from([*DIALECTS.values()]))
    messages = draw(st.lists(st.binary(max_size=60), min_size=2, max_size=12))
    return dialect, messages, draw(st.integers(0, encoded_bytes(dialect, None, messages[-1])))


@given(crashes())
def test_torn_tail_final_state_is_what_recovery_and_the_next_append_leave(crash):
    dialect, messages, cut_bytes = crash
    made = document(dialect, cut_bytes, messages)
    with TemporaryDirectory() as directory:
        plan, recovered, appended = recover(directory, dialect, messages, cut_bytes)
        files = files_of(Path(directory))
    values = made.final.values
    (after,) = [
        step.state
        for step in made.steps
        if step.say.startswith(("The .log is cut", "The file ends"))
    ]
    assert (after.tables[0].rows, values["log end offset after recovery"]) == recovered
    assert plan.log_end_offset == values["log end offset after recovery"]
    assert (made.final.tables[0].rows, values["log end offset"]) == appended
    assert values["decision"] == ("cut" if plan.cut else "keep")
    shown = {file.name.removesuffix(" after"): file.data for file in made.files}
    assert {name: shown[name] for name in files} == files
    cut_files = [name for name in files if name.endswith(".cut")]
    assert [values["side file"]] == (cut_files or [None])


@given(crashes())
def test_torn_tail_cut_inside_of_a_message_leaves_the_files_of_a_log_that_never_crashed(crash):
    dialect, messages, cut_bytes = crash
    if cut_bytes == encoded_bytes(dialect, None, messages[-1]):
        cut_bytes -= 1
    made = document(dialect, cut_bytes, messages)
    with TemporaryDirectory() as directory:
        open_log(directory, dialect).append((None, message) for message in messages)
        files = files_of(Path(directory))
    shown = {file.name.removesuffix(" after"): file.data for file in made.files}
    assert {name: shown[name] for name in files} == files
    assert any("the same as without the crash" in step.say for step in made.steps)


@both_dialects
def test_torn_tail_cut_at_each_byte_asks_only_what_is_in_doubt(dialect):
    for cut_bytes in range(LAST_BYTES[dialect] + 1):
        made = document(dialect, cut_bytes)
        asked = [step.ask.question for step in made.steps if step.ask]
        is_torn = 0 < cut_bytes < LAST_BYTES[dialect]
        assert any("does decoding them give" in question for question in asked) == is_torn
        assert any("cut the file?" in question for question in asked) == is_torn
        assert made.final.values["decision"] == ("cut" if is_torn else "keep")


def test_torn_tail_cuts_where_the_last_whole_message_ends_and_keeps_the_rest():
    made = document()
    files = {file.name: file.data for file in made.files}
    before = files["00000000000000000003.log before"]
    assert files["00000000000000000003.log.96.cut"] == before[96:]
    assert len(before) == 116
    rights = [c.answer for step in made.steps if step.ask for c in step.ask.choices if c.is_right]
    assert rights == [
        "00000000000000000003.log and all later ones",
        "more bytes needed",
        "at byte 96, where the last whole message ends",
        "7",
        "it refuses, and changes nothing",
    ]


@both_dialects
def test_torn_tail_of_a_whole_last_message_becomes_a_second_copy(dialect):
    made = document(dialect, LAST_BYTES[dialect])
    assert made.final.values["log end offset"] == len(MESSAGES) + 1
    assert any("the message twice" in step.say for step in made.steps)


@both_dialects
def test_damage_in_the_middle_is_refused_although_it_looks_like_a_torn_tail(dialect):
    steps = document(dialect).steps
    looks, refused = steps[-3:-1]
    assert looks.state.values["fault"] == "unfinished message"
    assert looks.state.tables[0].rows[looks.state.tables[0].marked[0]][0] == "more bytes needed"
    assert refused.state.values["decision"] == "refuse"
    assert refused.state.values["lost whole messages"] == 1


def test_torn_tail_refuses_a_byte_that_the_message_does_not_have():
    with pytest.raises(ValueError, match=r"cut at byte 33: .* give 0 to 32"):
        document(DOCUMENTED, 33)
    with pytest.raises(ValueError, match="at least 2"):
        document(KAFKA, 0, [b"one"])


@pytest.mark.parametrize("seed", range(60))
def test_torn_tail_says_what_a_recovery_by_hand_does(seed):
    chance = random.Random(seed)
    dialect = oracle.BOTH[seed % 2]
    values = list(MESSAGES) if seed % 3 else oracle.values(chance, chance.randint(2, 9), 50)
    parts = [oracle.encoded(dialect, n, None, value) for n, value in enumerate(values)]
    length = len(parts[-1])
    cut = chance.choice((0, 1, 11, 12, 15, length - 1, length, chance.randrange(length)))
    made = document(NAMED[dialect], cut, values)
    said = " ".join(step.say for step in made.steps)
    end = len(values) - 1
    _, last_before = oracle.segments(dialect, list(map(len, parts[:-1])), SETTINGS.segment_bytes)[
        -1
    ]
    point = max((2 * end + 2) // 3, end - len(last_before))  # what stands before it was flushed
    segments = oracle.segments(dialect, list(map(len, parts)), SETTINGS.segment_bytes)
    torn_at = segments[-1][1][-1][1]
    first, second = made.steps[0].say, made.steps[1].say
    assert oracle.numbers(first) == [*([0, end - 1] if end > 1 else [0]), point - 1]
    assert oracle.numbers(second) == [end, length, cut]
    names = [base for base, _ in segments]
    scanned = oracle.chosen(dialect, [*names], point)
    assert f"the segment with the recovery point, {scanned:020}, to the end" in said
    (reading,) = [
        step.ask for step in made.steps if step.ask and "must recovery" in step.ask.question
    ]
    answers = [choice.answer for choice in reading.choices]
    assert ("all .log files" in answers) == (scanned > names[0])
    assert ("Of earlier segments" in said) == (scanned > names[0])
    is_torn = 0 < cut < length
    rest = [step.say for step in made.steps if step.say.startswith("The rest, from byte")]
    needed = [length] if cut >= 12 else [12]
    assert [oracle.numbers(say) for say in rest] == [[torn_at, cut, *needed]] * is_torn
    valid = torn_at + (length if cut == length else 0)
    asked = [step.ask for step in made.steps if step.ask and "cut the file?" in step.ask.question]
    for question in asked:
        answers = [choice.answer for choice in question.choices]
        assert f"at byte {valid}, where the last whole message ends" in answers
        assert (f"at byte {torn_at + length}, where the message would end" in answers) == (
            cut >= 12
        )
    assert len(asked) == (is_torn and (cut >= 12 or torn_at > 0))
    if is_torn:
        assert f"cut to {valid} bytes. The {cut} byte{'s' * (cut > 1)} that were cut" in said
    (again,) = [step for step in made.steps if step.say.startswith("The producer got no answer")]
    is_twice = cut == length
    sizes = [*map(len, parts), *[length] * is_twice]
    after, held = oracle.segments(dialect, sizes, SETTINGS.segment_bytes)[-1]
    assert oracle.numbers(again.say) == [end + is_twice, held[-1][1]]
    assert f"of {after:020}.log." in again.say
    assert ("holds the message twice" in again.say) == is_twice
    oracle.assert_one_thing_is_one(words_of(made))
