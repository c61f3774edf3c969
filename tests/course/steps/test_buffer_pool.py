import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.course.replays.stepped_callers import SteppedPool
from kminilog.course.steps.buffer_pool import (
    FIRST,
    SECOND,
    GiveBack,
    PoolRun,
    Take,
    TimePasses,
    default_plan,
    document,
)
from tests.support.cli.command_line import CommandLine, assert_one_line
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of

BATCH = 16
ACTS = st.one_of(
    st.tuples(st.just("take"), st.one_of(st.just(BATCH), st.integers(0, 90)), st.integers(0, 20)),
    st.tuples(st.just("give"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("pass"), st.integers(0, 15), st.just(0)),
)


def run_plain(total, drawn):
    """Run a plan with the pool alone; return the plan, the pool's figures, and who is served."""
    stepped = SteppedPool(total, BATCH)
    plan, names, deadlines = [], {}, {}
    try:
        for number, (kind, size, wait_ms) in enumerate(drawn):
            served = [who for who, caller in names.items() if caller.buffer is not None]
            if kind == "take":
                who = f"caller {number}"
                names[who] = stepped.allocate(size, wait_ms)
                deadlines[who] = stepped.clock.now_ms() + wait_ms
                plan.append(Take(who, size, wait_ms))
            elif kind == "give" and served:
                who = served[size % len(served)]
                stepped.give_back(names.pop(who).buffer)
                plan.append(GiveBack(who))
            elif kind == "pass":
                stepped.clock.sleep_ms(size)
                for who, caller in names.items():
                    if caller.is_waiting and deadlines[who] <= stepped.clock.now_ms():
                        stepped.go_on(caller, False)
                plan.append(TimePasses(size))
        pool = stepped.pool
        sizes = {w: c.size_bytes for w, c in names.items() if c.buffer is not None}
        queue = [who for who, caller in names.items() if caller.is_waiting]
        return plan, (pool.pooled_bytes, pool.available_bytes, pool.waiter_count), sizes, queue
    finally:
        stepped.end()


@settings(max_examples=60)
@given(st.integers(BATCH, 80), st.lists(ACTS, min_size=1, max_size=25))
def test_buffer_pool_final_state_is_what_the_pool_itself_says(total, drawn):
    plan, figures, sizes, queue = run_plain(total, drawn)
    found = document(total, BATCH, plan)
    values = found.final.values
    assert (values["free list"], values["unpooled"], values["waiting calls"]) == figures
    ledger = {row[0]: row[1] for row in found.final.tables[0].rows}
    assert (ledger["free list"], ledger["unpooled"]) == figures[:2]
    assert ledger["in use: lent"] == sum(sizes.values())
    assert ledger["total"] == total
    assert ledger["in use: other"] >= 0
    if not queue:
        assert ledger["in use: other"] == 0
    tables = {table.title: table.rows for table in found.final.tables}
    assert {row[0]: row[1] for row in tables.get("Who has a buffer", ())} == sizes
    waiting = tables.get("Who waits, in order", ())
    assert [row[0] for row in waiting] == queue


@pytest.mark.parametrize(("total", "batch"), [(256, 64), (192, 48), (1 << 20, 48), (1000, 99)])
def test_buffer_pool_default_plan_shows_each_rule_whatever_the_sizes(total, batch):
    run = PoolRun(total, batch)
    try:
        outcomes = [run.do(act) for act in default_plan(total, batch)]
    finally:
        run.end()
    assert outcomes[2].is_reused
    assert outcomes[5].after.pooled_bytes < outcomes[5].before.pooled_bytes
    assert outcomes[8].served == ("e", "f")
    assert (outcomes[12].gave_up, outcomes[12].served) == (("g",), ("h",))
    assert outcomes[12].before.other_bytes > 0
    assert outcomes[-1].after[2:] == (0, 0)
    assert sum(1 for step in document(total, batch).steps if step.ask) == 4


def test_buffer_pool_in_flight_shows_the_second_message_in_the_first_ones_buffer():
    found = document()
    first, second = found.files
    assert (first.data, second.data) == (FIRST, SECOND)
    (ask,) = (step.ask for step in found.steps if step.ask and "in flight" in step.ask.question)
    assert [choice.answer for choice in ask.choices if choice.is_right] == ['"gets 9"']
    kept = found.steps[-2].state
    assert kept.values["still in the buffer"] == '"pays 5"'
    assert kept.tables[0].rows[1][1:] == (192, 64)
    assert found.final.values["free list"] + found.final.values["unpooled"] == 192


def test_buffer_pool_says_an_error_at_once():
    said = document(64, 16, [Take("a", 65), Take("b", 64), Take("c", 1, wait_ms=0)]).steps
    assert "hard limit of 64" in said[1].say
    assert "max blocking time 0 ms" in said[3].say


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ([GiveBack("a")], "a has no buffer to give back"),
        ([Take("a", 1), Take("a", 1)], "a has a buffer, or waits for one"),
    ],
)
def test_buffer_pool_refuses_a_plan_that_makes_no_sense(plan, reason):
    with pytest.raises(ValueError, match=reason):
        document(64, 16, plan)


@pytest.mark.parametrize(("total", "batch"), [(255, 64), (100, 25), ((1 << 20) + 1, 64)])
def test_step_buffer_pool_refuses_sizes_in_one_line(tmp_path, total, batch):
    run = CommandLine(tmp_path)("step", "buffer-pool", "--total", total, "--batch", batch)
    assert_one_line(run, 2, "at least" if total < 1 << 20 else "at most")


@pytest.mark.parametrize("batch", [48, 49, 64, 100])
@pytest.mark.parametrize("more", [0, 1, 2, 5, 15, 16, 17, 22, 63, 1000])
def test_buffer_pool_says_what_is_counted_by_hand(batch, more):
    total = 4 * batch + more
    found = document(total, batch)
    for step in found.steps:
        tables = step.state.tables
        if not tables or tables[0].title != "Where the memory is, in bytes":
            continue
        rows = [row[1] for row in tables[0].rows]
        assert sum(rows[:-1]) == rows[-1] == total
        if "takes what is there" in step.say:
            assert oracle.numbers(step.say)[1] == rows[3]
    assert oracle.numbers(found.steps[-1].say) == [found.steps[-1].state.tables[0].rows[3][1]]
    oracle.assert_one_thing_is_one(words_of(found))


def test_buffer_pool_says_of_one_byte_that_it_is_one():
    found = document(81, BATCH, [Take("a", 80), Take("b", 40, 10)])
    assert "takes what is there, 1 byte, and" in found.steps[-1].say
    oracle.assert_one_thing_is_one(words_of(found))
