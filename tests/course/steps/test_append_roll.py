import json
import random
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from kminilog.cli.main import main
from kminilog.course.steps.append_roll import INTERVAL_BYTES, document
from kminilog.errors import MessageTooLargeError, SettingError
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of
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


NAMED = {one.name: one for one in DIALECTS.values()}


def lines(chance: random.Random) -> list[bytes]:
    """Return values to append: of one length, or of any."""
    if chance.randrange(2):
        return [b"v" * chance.randint(0, 20)] * chance.randint(1, 8)
    return oracle.values(chance, chance.randint(1, 12), 40)


@pytest.mark.parametrize("seed", range(60))
def test_append_roll_says_of_each_message_what_the_rule_gives(seed):
    chance = random.Random(seed)
    dialect = oracle.BOTH[seed % 2]
    values = lines(chance)
    sizes = [len(oracle.encoded(dialect, 0, None, value)) for value in values]
    limit = max(sizes) * chance.randint(1, 3) + chance.choice((0, 0, 1, 7))
    made = document(NAMED[dialect], values, limit)
    held = [
        (offset, start, size, name, number)
        for name, messages in oracle.segments(dialect, sizes, limit)
        for number, (offset, start, size) in enumerate(messages)
    ]
    steps = iter(made.steps[1:])
    for offset, start, size, name, number in held:
        step = next(steps)
        if offset and number == 0:
            check_roll(step, held[offset - 1], offset, size, limit, dialect)
            step = next(steps)
            rule = [offset - 1 if dialect == "documented" else offset]
            assert oracle.numbers(step.say)[:4] == [*rule, 20, offset, 0]
        else:
            sums = f" {start} + {size} = {start + size}, "
            assert f"Message {offset} takes {size} bytes.{sums}" in step.say
            assert f"to byte {start} of {name:020}.log" in step.say
            assert ("all the same" in step.say) == (start + size > limit)
            assert ("exactly the limit" in step.say) == (start + size == limit)
        assert step.state.values["next offset"] == offset + 1
        assert step.state.values["log bytes"] == start + size
    check_limit(made, held, limit)
    oracle.assert_one_thing_is_one(words_of(made))


def check_roll(step, before, offset, size, limit, dialect):
    _, start, last_size, *_ = before
    used = start + last_size
    sums = f"{used} + {size} = {used + size}, which is more than {limit}."
    assert f"Message {offset} takes {size} bytes. {sums}" in step.say
    assert (step.state.values["next offset"], step.state.values["log bytes"]) == (offset, used)
    for choice in step.ask.choices if step.ask else ():
        part = re.match(r"(-?\d+) bytes? to the old", choice.answer)
        assert not part or int(part[1]) == limit - used > 0
        assert "becomes larger" not in choice.why


def check_limit(made, held, limit):
    """The first step says what may pass the limit, and nothing else does."""
    larger = {name for _, start, size, name, _ in held if start + size > limit}
    assert larger <= {0}
    assert not larger or "Only the first .log may pass it" in made.steps[0].say
    for step in made.steps:
        if step.ask and "The segment before holds" in step.ask.question:
            said = re.search(
                r"holds offsets? (\d+)(?: to (\d+))?\. Message (\d+)", step.ask.question
            )
            first, last, offset = (int(n or said[1]) for n in said.groups())
            name = held[offset - 1][3]
            assert [first, last] == [min(o for o, *_, n, _ in held if n == name), offset - 1]
    assert "begins with the next message" not in " ".join(step.say for step in made.steps)


@given(
    dialects,
    st.lists(st.binary(max_size=60), min_size=1, max_size=20),
    st.integers(86, 200),
    st.integers(1, 1_500),
)
def test_append_roll_retention_keeps_what_the_limit_asks_for(
    dialect, messages, segment_bytes, retention_bytes
):
    made = document(dialect, messages, segment_bytes, retention_bytes)
    listing, *_ = document(dialect, messages, segment_bytes).final.tables
    sizes = [row[3] for row in listing.rows]
    goes = max(n for n in range(len(sizes) + 1) if n == 0 or sum(sizes[n:]) >= retention_bytes)
    decided = next(step for step in made.steps if step.say.startswith("Nobody deletes"))
    said = [row[-1] for row in decided.state.tables[0].rows]
    assert said == ["goes"] * goes + ["stays"] * (len(sizes) - goes)
    if goes == 0:
        assert made.steps[-1] == decided
        return
    assert right(decided.ask) == str(goes)
    renamed, unlinked = (step.state.tables for step in made.steps[-2:])
    kept = listing.rows[goes:]
    ends = [*(row[1] for row in listing.rows), len(messages)]
    assert made.final.values["log start offset"] == ends[goes]
    assert made.final.values["log bytes"] == sum(sizes[goes:])
    assert unlinked[1].rows == renamed[1].rows == kept
    names = {name for (name,) in renamed[0].rows}
    gone = {f"{row[0]}{end}" for row in listing.rows[:goes] for end in (".log", ".index")}
    assert {f"{name}.deleted" for name in gone} == names - {n for (n,) in unlinked[0].rows}
    assert not gone & {name for (name,) in unlinked[0].rows}


@pytest.mark.parametrize(("dialect", "lowest"), [(DOCUMENTED, "4"), (KAFKA, "3")])
def test_append_roll_asks_for_the_lowest_offset_after_retention(dialect, lowest):
    made = document(dialect, retention_bytes=200 if dialect is KAFKA else 128)
    ask = made.steps[-2].ask
    assert right(ask) == lowest
    named = {choice.answer for choice in ask.choices}
    assert named == ({"0", "3", "4", "10"} if dialect is DOCUMENTED else {"0", "3", "10"})


def test_append_roll_retention_of_all_leaves_an_empty_segment_at_the_end():
    (row,) = document(KAFKA, retention_bytes=0).final.tables[1].rows
    assert row == ("00000000000000000010", 10, 10, 0, 0)


def test_retention_follows_the_size_of_a_segment():
    def kept_of(*words: str) -> int:
        run = CliRunner().invoke(main, ["step", "append-roll", *words, "--json"])
        values = [step["state"].get("values", {}) for step in json.loads(run.stdout)["steps"]]
        return next(each["retention.bytes"] for each in values if "retention.bytes" in each)

    assert kept_of("--segment-bytes", "60") == 60
    assert kept_of("--segment-bytes", "60", "--retention-bytes", "70") == 70
    assert kept_of() == 128
