"""`step buffer-pool`: the memory of a producer: lent, kept for reuse, waited for, given back.

    free list + unpooled + in use = total        at each step

Nine callers take and give back, one of them gives up, and at the end a batch is in flight
(`in_flight`). Each figure is the pool's own. Source: S2 1; Kafka: BufferPool, KAFKA-19012.
"""

from collections.abc import Sequence

from kminilog.course.steps.document import Ask, Document, Table, Value
from kminilog.course.steps.producer.in_flight import MESSAGE_ROOM_BYTES, say_in_flight
from kminilog.course.steps.producer.pool_run import (
    Act,
    GiveBack,
    Outcome,
    PoolRun,
    Take,
    TimePasses,
)
from kminilog.course.steps.recording import Recording, ask, question_with_enough_choices
from kminilog.text import count

MAX_TOTAL_BYTES = 1 << 20


def default_plan(total_bytes: int, batch_bytes: int) -> list[Act]:
    """Return a plan that shows each rule once, for a total of at least four batches.

    All memory is back at its end.
    """
    return [
        Take("a", batch_bytes),
        GiveBack("a"),
        Take("b", batch_bytes),
        Take("c", total_bytes - 2 * batch_bytes),
        GiveBack("b"),
        Take("d", batch_bytes + batch_bytes // 4),
        Take("e", batch_bytes),
        Take("f", batch_bytes // 2),
        GiveBack("d"),
        Take("g", total_bytes, wait_ms=300),
        Take("h", batch_bytes),
        GiveBack("c"),
        TimePasses(300),
        GiveBack("e"),
        GiveBack("f"),
        GiveBack("h"),
    ]


def document(
    total_bytes: int = 256, batch_bytes: int = 64, plan: Sequence[Act] | None = None
) -> Document:
    """Return the step-through; its last state has the pool's own figures.

    With a plan of the caller's, nothing comes after it. Raises ValueError for sizes of which the
    default plan does not work, and for a plan in which somebody gives back what it has not.
    """
    if plan is None and not 4 * MESSAGE_ROOM_BYTES <= 4 * batch_bytes <= total_bytes:
        raise ValueError(
            f"a total of {total_bytes} bytes, and batches of {batch_bytes}: give batches of at "
            f"least {MESSAGE_ROOM_BYTES} bytes, and a total of at least four batches"
        )
    if total_bytes > MAX_TOTAL_BYTES:
        raise ValueError(f"a total of {total_bytes} bytes: at most {MAX_TOTAL_BYTES}")
    recording = Recording("buffer-pool", "The memory of a producer: one pool of buffers")
    run = PoolRun(total_bytes, batch_bytes)
    asked: set[str] = set()
    try:
        recording.step(
            f"A producer has one pool of memory, buffer.memory = {total_bytes} bytes here. Buffers "
            f"of one size only are kept for reuse: those of a batch, batch.size = {batch_bytes}. "
            "Nothing is made yet.",
            values=_values(run),
            tables=_tables(run),
        )
        for act in default_plan(total_bytes, batch_bytes) if plan is None else plan:
            outcome = run.do(act)
            recording.step(
                _said(run, outcome),
                ask=_question(run, outcome, asked),
                values=_values(run),
                tables=_tables(run, () if isinstance(act, TimePasses) else (act.who,)),
            )
        if plan is None:
            say_in_flight(recording, run.stepped)
            recording.step(_at_the_end(run), values=_values(run), tables=_tables(run))
    finally:
        run.end()
    return recording.document()


def _at_the_end(run: PoolRun) -> str:
    missing = run.ledger().other_bytes
    return (
        f"The ledger at the end: {missing} bytes are out with a batch that nobody waits for any "
        "more. They are the price of never sending a wrong message."
    )


def _values(run: PoolRun) -> dict[str, Value]:
    pool = run.stepped.pool
    return {
        "time in ms": run.now_ms,
        "free list": pool.pooled_bytes,
        "unpooled": pool.available_bytes,
        "waiting calls": pool.waiter_count,
    }


def _tables(run: PoolRun, names: Sequence[str] = ()) -> list[Table]:
    ledger = run.ledger()
    rows: list[tuple[Value, ...]] = [
        ("free list", ledger.pooled_bytes, "buffers of the poolable size, made already"),
        ("unpooled", ledger.available_bytes, "not made into buffers"),
        ("in use: lent", ledger.lent_bytes, "buffers that callers have"),
        (
            "in use: other",
            ledger.other_bytes,
            "collected by the first in the queue, or in flight",
        ),
        ("total", sum(ledger), "always the same"),
    ]
    tables = [Table("Ledger, in bytes", ("where", "bytes", "what it is"), tuple(rows))]
    out: list[tuple[Value, ...]] = []
    for who, caller in run.holders.items():
        assert caller.buffer is not None
        out.append((who, caller.size_bytes, run.number_of(caller.buffer)))
    if out:
        marked = tuple(place for place, row in enumerate(out) if row[0] in names)
        tables.append(Table("Who has a buffer", ("who", "bytes", "buffer"), tuple(out), marked))
    if run.queue:
        waits = tuple(
            (who, caller.size_bytes, run.deadlines_ms[who]) for who, caller in run.queue.items()
        )
        tables.append(Table("Who waits, first come first", ("who", "needs", "until ms"), waits))
    return tables


def _said(run: PoolRun, outcome: Outcome) -> str:
    act = outcome.act
    if isinstance(act, Take):
        return _said_take(run, outcome, act)
    if isinstance(act, GiveBack):
        said = f"{act.who} gives its buffer back."
        if not outcome.served and outcome.after.pooled_bytes > outcome.before.pooled_bytes:
            said += " It has the poolable size: the free list keeps it as it is."
        elif not outcome.served:
            said += " Only its bytes count: they are unpooled again."
        return said + _and_then(run, outcome)
    return f"{act.duration_ms} ms pass." + _and_then(run, outcome)


def _said_take(run: PoolRun, outcome: Outcome, act: Take) -> str:
    wish = f"{act.who} asks for {count(act.size_bytes, 'byte')}"
    if outcome.error:
        return f"{wish} and gets an error at once: {outcome.error}"
    if act.who in run.queue:
        if len(run.queue) > 1:
            return f"{wish} and waits at the end of the queue. Only the first may collect memory."
        got = outcome.after.other_bytes
        return (
            f"{wish}; too little is there, so it waits. It is the first: it takes the {got} bytes "
            "that are there, and collects the rest as it comes back."
        )
    if outcome.is_reused:
        return f"{wish}: a batch. It gets a buffer of the free list, old content and all."
    broken = outcome.before.pooled_bytes - outcome.after.pooled_bytes
    if broken > 0:
        buffers = count(broken // run.stepped.pool.poolable_size_bytes, "buffer")
        return (
            f"{wish}, which is not the poolable size. Unpooled memory does not suffice: {buffers} "
            "of the free list must be given up for it."
        )
    return f"{wish} and gets a new buffer, made of unpooled memory."


def _and_then(run: PoolRun, outcome: Outcome) -> str:
    said = ""
    if outcome.gave_up:
        names = ", ".join(outcome.gave_up)
        said += f" The time of {names} is over: an error. What was collected goes back."
    if outcome.served:
        is_one = len(outcome.served) == 1
        names = " and ".join(outcome.served)
        said += f" The queue goes on in its order: {names} {'is' if is_one else 'are'} served."
    elif run.queue and not outcome.gave_up:
        first = next(iter(run.queue))
        said += f" {first} collects it, and waits on."
    return said


def _question(run: PoolRun, outcome: Outcome, asked: set[str]) -> Ask | None:
    """Return what is asked, each once: a buffer comes back, the queue, a call that gives up."""
    kind = ""
    if outcome.gave_up and outcome.before.other_bytes:
        kind = "gives up"
    elif isinstance(outcome.act, GiveBack):
        kind = "queue" if outcome.served else "comes back" if not run.queue else ""
    if not kind or kind in asked:
        return None
    made = {"gives up": _ask_gives_up, "queue": _ask_queue, "comes back": _ask_comes_back}[kind]
    question = question_with_enough_choices(made(run, outcome))
    if question:
        asked.add(kind)
    return question


def _ask_comes_back(run: PoolRun, outcome: Outcome) -> Ask:
    assert isinstance(outcome.act, GiveBack)
    total, before, after = run.stepped.pool.memory_bytes, outcome.before, outcome.after
    back = before.lent_bytes - after.lent_bytes
    return ask(
        f"{outcome.act.who} gives its {back} bytes back. How many bytes are unpooled then?",
        str(after.available_bytes),
        "A buffer of the poolable size is kept in the free list, made as it is."
        if after.pooled_bytes > before.pooled_bytes
        else "Only the poolable size is kept as a buffer.",
        {
            str(before.available_bytes + back): "It is free, but not unpooled: the buffer was of "
            "the poolable size, so it stays made.",
            str(before.available_bytes): "Its size is not the poolable one: it is not kept.",
            str(before.available_bytes - back): "It was taken off already, when it was lent.",
            str(total + back): "The total never grows.",
        },
    )


def _ask_queue(run: PoolRun, outcome: Outcome) -> Ask:
    assert isinstance(outcome.act, GiveBack)
    waiting = [*outcome.served, *run.queue]
    right = f"{', '.join(outcome.served)}, in this order"
    wrong = {
        f"{waiting[-1]} first": "That would be a stack: who came first might wait for ever.",
        "who needs the least": "Then a large request might wait for ever. The queue is fair.",
        "nobody before all of them can": "Each leaves the queue as soon as it has its bytes.",
    }
    return ask(
        f"{' and '.join(waiting)} wait, in this order. {outcome.act.who} gives back "
        f"{outcome.before.lent_bytes - _still_lent(run, outcome)} bytes. Who is served?",
        right,
        "First come, first served: the first collects, and wakes the next if something is left.",
        wrong,
    )


def _still_lent(run: PoolRun, outcome: Outcome) -> int:
    """Return what was lent before the act and is lent still."""
    holders = run.holders.items()
    return sum(caller.size_bytes for who, caller in holders if who not in outcome.served)


def _ask_gives_up(run: PoolRun, outcome: Outcome) -> Ask:
    who = outcome.gave_up[0]
    right = "they go back"
    if outcome.served:
        right += f", and {outcome.served[0]} is served"
    return ask(
        f"{who} has collected {outcome.before.other_bytes} bytes, and its time is over. What "
        "becomes of them?",
        right,
        "A call that fails keeps nothing, and wakes the next one.",
        {
            "they are lost": "So it is in the documents' code: each time-out makes the pool "
            "smaller.",
            f"{who} keeps them for its next call": "A call that fails leaves nothing behind; the "
            "next one begins anew.",
            "they come back when the pool is closed": "Others wait for them now.",
        },
    )
