from functools import partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.course.steps.sticky import BUG, KEYS, document
from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.partitioners.registry import PARTITIONERS
from tests.support.cli.command_line import CommandLine, assert_one_line
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of

LABELS = [*PARTITIONERS, "round-robin (bug)"]


def made(*partitioners, partitions=4, batch_bytes=78, seed=0):
    names = partitioners or tuple(PARTITIONERS)
    return document(partial(Random, seed), partitions, batch_bytes, names)


def grid(found):
    """Where each record goes, by the label of the partitioner."""
    key_row, *rows = found.final.tables[0].rows
    assert key_row[1:] == KEYS
    return {row[0]: list(row[1:]) for row in rows}


def asked(found):
    return [step.ask for step in found.steps if step.ask]


def right(ask):
    return next(choice.answer for choice in ask.choices if choice.is_right)


@settings(max_examples=20)  # each makes the document of all partitioners
@given(
    st.sampled_from(LABELS),
    st.integers(1, 20),
    st.integers(0, 200),
    st.integers(0, 2**32),
)
def test_sticky_final_grid_is_what_partition_computes(label, partitions, batch_bytes, seed):
    name = label.removesuffix(" (bug)")
    shown = grid(made(name, partitions=partitions, batch_bytes=batch_bytes, seed=seed))[label]
    options = ["--partitioner", name, "--partitions", partitions, "--seed", seed, "--json"]
    options += ["--config", f"batch.size={batch_bytes}"]
    options += ["--config", f"{BUG}={'true' if label != name else 'false'}"]
    for key in KEYS:
        options += ["--key", key] if key else ["--no-key", 1]
    run = CommandLine("unused").ok("partition", *options)
    assert shown == [choice["partition"] for choice in run.document["choices"]]


def test_sticky_grid_grows_by_a_record_a_step_and_stars_where_a_batch_begins():
    found = made("uniform-sticky")
    rows = [step.state.tables[0].rows[1][1:] for step in found.steps[: len(KEYS) + 1]]
    for number, row in enumerate(rows):
        assert [cell is not None for cell in row] == [True] * number + [False] * (12 - number)
    final = grid(found)["uniform-sticky"]
    stars = [str(cell).endswith("*") for cell in rows[-1]]
    assert [int(str(cell).rstrip("*")) for cell in rows[-1]] == final
    # Three records without a key fill a batch, two and one with a key do not fit.
    assert stars[:6] == [True, False, False, True, False, True]
    assert all(final[n] != final[n - 1] for n in range(1, 12) if stars[n])
    marked = [step.state.tables[0].marked for step in found.steps[1:13]]
    assert marked == [(1,) if star else () for star in stars]


def test_sticky_says_which_answer_was_lost():
    found = made("default-2.4")
    assert "default-2.4 chose partition 3 first, where no batch has room" in found.steps[1].say
    assert "and it chose partition 1." in found.steps[1].say
    assert "asked again" not in found.steps[2].say
    assert found.steps[3].state.values["full batches"] == "default-2.4"


def test_sticky_asks_for_the_second_record_as_its_batch_has_room_or_not():
    assert right(asked(made("uniform-sticky"))[0]) == "the same partition again"
    without_room = made("uniform-sticky", batch_bytes=26)
    assert right(asked(without_room)[0]) == "another partition, at random"


def test_sticky_asks_where_a_key_goes_that_came_before():
    found = made("built-in")
    (question,) = (ask for ask in asked(found) if "the key ann again" in ask.question)
    assert int(right(question)) == grid(found)["built-in"][3]


def test_sticky_asks_what_sends_a_key_that_is_not_looked_at():
    found = made("default-2.4", "uniform-sticky")
    asking = [(n, step.ask) for n, step in enumerate(found.steps) if step.ask]
    ((number, question),) = ((n, ask) for n, ask in asking if "uniform-sticky" in ask.question)
    assert KEYS[number - 1] == "eve"
    assert right(question).startswith("whether the open batch")
    assert not any("What decides" in ask.question for ask in asked(made("default-2.4")))


@pytest.mark.parametrize(("partitions", "used"), [(4, 2), (5, 5), (6, 3)])
def test_sticky_bug_uses_half_of_an_even_number_of_partitions(partitions, used):
    found = made("round-robin", partitions=partitions)
    (question,) = asked(found)
    assert right(question) == str(used)
    assert len(set(grid(found)["round-robin (bug)"])) == used
    assert len(set(grid(found)["round-robin"])) == partitions


@pytest.mark.parametrize("seed", range(5))
def test_sticky_slow_leader_gets_the_most_by_batch_and_the_least_by_bytes(seed):
    found = made("default-2.4", "built-in", seed=seed)
    by_batch, by_bytes = (row[1:] for row in found.steps[-2].state.tables[0].rows)
    assert by_batch[0] == max(by_batch)
    assert by_bytes[0] == min(by_bytes)
    assert sum(by_batch) == sum(by_bytes) == 300
    assert right(asked(found)[-1]) == "more than that"


def test_sticky_batches_of_one_record_have_no_skew():
    assert right(asked(made("uniform-sticky", batch_bytes=0))[-1]) == "about as many as that"


@pytest.mark.parametrize("partitions", [0, 21])
def test_sticky_refuses_partitions_that_it_cannot_show(partitions):
    with pytest.raises(ValueError, match="give 1 to 20"):
        made(partitions=partitions)


@pytest.mark.parametrize("partitions", [1, 2])
def test_sticky_of_few_partitions_asks_only_what_has_three_answers(partitions):
    assert all(len(ask.choices) >= 3 for ask in asked(made(partitions=partitions)))


def test_step_sticky_takes_a_class_of_ones_own(tmp_path):
    run = CommandLine(tmp_path)
    own = "kminilog.partitioners.examples.CorrectedExample"
    rows = run.ok("step", "sticky", "--partitioner", own, "--json").document["steps"][-1]
    assert rows["state"]["tables"][0]["rows"][1][:5] == [own, 0, 1, 2, 2]
    assert_one_line(run("step", "sticky", "--partitioner", "nope"), 2, "no partitioner 'nope'")
    with pytest.raises(UnknownTopicOrPartitionError):
        made("kminilog.partitioners.examples.AlwaysTwo", partitions=2)


@pytest.mark.parametrize("seed", range(45))
def test_sticky_says_what_is_counted_by_hand(seed):
    partitions = (1, 2, 3, 8, 13, 20)[seed % 6]
    batch_bytes = (0, 1, 26, 78, 200, 320, 4000)[seed % 7]
    found = made(
        "default-2.4",
        "built-in",
        "round-robin",
        partitions=partitions,
        batch_bytes=batch_bytes,
        seed=seed,
    )
    *_, bug, slow, built_in, _ = found.steps
    shares = {row[0]: row[1:] for row in slow.state.tables[0].rows}
    each = {300 // partitions, -(-300 // partitions)}
    assert slow.state.values["equal share"] == " or ".join(map(str, sorted(each)))
    assert ("the others" in slow.say) == (partitions > 1)
    assert "gets more records" not in slow.say
    assert built_in.say.endswith(f"Here partition 0 gets {shares['built-in'][0]} of 300 records.")
    used = len(set(grid(found)["round-robin (bug)"]))
    noun = "partition" if partitions == 1 else "partitions"
    assert f" uses {used} of {partitions} {noun}." in bug.say
    for step in (bug, slow):
        for choice in step.ask.choices if step.ask else ():
            assert "each partition is reached" not in choice.why or used == partitions
    if slow.ask:
        ratio = shares["default-2.4"][0] * partitions / 300
        wanted = "about as many as that" if 0.8 <= ratio <= 1.2 else "more than that"
        assert right(slow.ask) == ("fewer than that" if ratio < 0.8 else wanted)
        for choice in slow.ask.choices:
            assert f"It gets {shares['default-2.4'][0]} of 300." in choice.why
    oracle.assert_one_thing_is_one(words_of(found))


@pytest.mark.parametrize("batch_bytes", [0, 26, 78, 320])
def test_sticky_draws_bars_that_lie_in_one_batch_each(batch_bytes):
    names = ("default-0.8", "default-0.9", "default-2.4", "built-in", "round-robin")
    found = made(*names, batch_bytes=batch_bytes)
    step = found.steps[len(KEYS)]
    assert "Each bar is a batch" not in step.state.picture.title
    stars = {row[0]: row[1:] for row in step.state.tables[0].rows[1:]}
    for lane in step.state.picture.lanes:
        cells = list(map(str, stars[lane.name]))
        begins = [
            n for n in range(12) if "*" in cells[n] or cells[n] != cells[n - 1].rstrip("*") or not n
        ]
        assert [bar.start for bar in lane.bars] == begins
        assert [bar.style.startswith("key") for bar in lane.bars] == [
            KEYS[n] is not None for n in begins
        ]
