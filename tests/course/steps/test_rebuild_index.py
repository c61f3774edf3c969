import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.course.steps.rebuild_index import DAMAGES, FIRST_OFFSET, INTERVAL_BYTES, document
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.recovery import carry_out, plan_recovery
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of
from tests.support.damage import index_entries

ORDERS = TopicPartition("orders", 0)
SETTINGS = TopicSettings(index_interval_bytes=INTERVAL_BYTES)
each = pytest.mark.parametrize("damage", DAMAGES)
NAMED = {one.name: one for one in DIALECTS.values()}
both_dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)


def data_of(made, ending):
    return next((file.data for file in made.files if file.name.endswith(ending)), None)


@given(
    st.sampled_from([*DIALECTS.values()]),
    st.sampled_from(DAMAGES),
    st.lists(st.binary(max_size=60), min_size=4, max_size=30),
)
def test_rebuild_index_final_state_is_what_recovery_leaves(dialect, damage, messages):
    made = document(dialect, damage, messages)
    before, damaged = data_of(made, "before"), data_of(made, "damaged")
    with TemporaryDirectory() as directory:
        path, base_offset = Path(directory), dialect.base_offset_for(FIRST_OFFSET)
        log = PartitionLog.open(path, ORDERS, dialect, SETTINGS, base_offset=base_offset)
        log.append((None, message) for message in messages)
        (segment,) = log.segments()
        assert segment.index.path.read_bytes() == before
        if damaged is None:
            segment.index.path.unlink()
        else:
            segment.index.path.write_bytes(damaged)
        reader = PartitionReader(path, ORDERS, dialect, SETTINGS)
        carry_out(plan_recovery(reader))
        rebuilt = segment.index.path.read_bytes()
        assert made.final.values["log end offset"] == reader.log_end_offset
    assert damaged != before
    assert data_of(made, "rebuilt") == rebuilt == before
    assert made.final.values["same bytes as before"] == "true"
    assert [row[1:3] for row in made.final.tables[0].rows] == index_entries(rebuilt)


@both_dialects
@each
def test_rebuild_index_searches_find_the_message_by_a_longer_way(dialect, damage):
    tables = [table for step in document(dialect, damage).steps for table in step.state.tables]
    searches = [table for table in tables if table.title.startswith("The search")]
    whole, damaged, rebuilt = searches[-1].rows
    assert whole[1:] == rebuilt[1:]
    assert damaged[4] == whole[4]
    assert damaged[3] > whole[3]
    assert searches[0].rows == (whole, damaged)


@both_dialects
@each
def test_rebuild_index_marks_the_entries_that_differ(dialect, damage):
    made = document(dialect, damage)
    (table,) = [
        t for s in made.steps for t in s.state.tables if t.title == "The index and the rule"
    ]
    present, due = ([row[n] for row in table.rows] for n in (1, 2))
    lost = {"missing": [None] * 4, "short": [*due[:2], None, None]}
    wrong = [*due[:2], present[2], due[3]]
    assert present == lost.get(damage, wrong)
    assert table.marked == {"missing": (0, 1, 2, 3), "short": (2, 3), "wrong": (2,)}[damage]
    assert all(present[slot] != due[slot] for slot in table.marked)


def test_rebuild_index_asks_what_readers_and_recovery_do():
    asks = [step.ask for step in document(DOCUMENTED, "missing").steps if step.ask]
    assert [c.answer for ask in asks for c in ask.choices if c.is_right] == [
        "the message, after a longer way",
        "it writes the whole index again, from the .log",
        "0",
    ]


def test_rebuild_index_refuses_an_unknown_damage_and_too_few_messages():
    with pytest.raises(ValueError, match="give missing, short or wrong"):
        document(KAFKA, "burnt")
    with pytest.raises(ValueError, match="1 message: too few"):
        document(KAFKA, "short", [b"one"])


@pytest.mark.parametrize("seed", range(48))
def test_rebuild_index_says_what_the_rule_and_a_search_by_hand_give(seed):
    chance = random.Random(seed)
    dialect, damage = oracle.BOTH[seed % 2], DAMAGES[seed % 3]
    values = [b"v" * chance.choice((0, 9, 40, 120)) for _ in range(chance.randint(4, 20))]
    made = document(NAMED[dialect], damage, values)
    base = FIRST_OFFSET - (dialect == "documented")
    log = b"".join(
        oracle.encoded(dialect, FIRST_OFFSET + n, None, value) for n, value in enumerate(values)
    )
    held = oracle.places(dialect, log)
    due = oracle.due(base, held, INTERVAL_BYTES)
    assert data_of(made, ".log") == log
    slot = len(due) // 2
    wanted = base + due[slot][0] if damage == "wrong" else held[-1].offset
    place = next(one for one in held if one.offset == wanted)
    usable = [e for e in due if base + e[0] <= wanted]
    now = usable[:slot] if damage == "short" else []
    start = now[-1][1] if now else 0
    said = next(step.say for step in made.steps if step.say.startswith("A reader looks for"))
    begins = [*now[-1]] if now else [0]
    reads = [place.end - start, place.end - usable[-1][1]]
    assert oracle.numbers(said) == [wanted, place.start, *begins, *reads]
    assert reads[0] > reads[1]
    rules = [step.say for step in made.steps if "must have the entry" in step.say]
    last = 0
    for (relative, position), rule in zip(due, rules, strict=True):
        since = [last] if last else []
        told = rule[rule.index("The next message that") :].partition(" (To save")[0]
        numbers = [INTERVAL_BYTES, *since, base + relative, position, relative, position]
        assert oracle.numbers(told) == numbers
        last = position
    differs = len(due) - slot if damage == "short" else 1 if damage == "wrong" else len(due)
    compared = next(step.say for step in made.steps if "compares the file" in step.say)
    assert oracle.numbers(compared) == [differs]
    written = next(step.say for step in made.steps if step.say.startswith("The new index has"))
    assert oracle.numbers(written) == [8 * len(due), 0]
    for step in made.steps:
        for choice in step.ask.choices if step.ask else ():
            assert "Most messages have no entry" not in choice.why
            assert "from its beginning" not in choice.why or start == 0
    oracle.assert_one_thing_is_one(words_of(made))
