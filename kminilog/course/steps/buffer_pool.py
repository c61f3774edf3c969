"""`step buffer-pool`: the memory of a producer: lent, kept for reuse, waited for, given back.

    free list + unpooled + in use = total        at each step

    Take("a", 64)      a asks for 64 bytes, and may wait some time
    GiveBack("a")      a gives its buffer back
    TimePasses(300)    time passes; who has waited too long gives up

Nine callers take and give back, and one of them gives up. The pool is the real one, and its callers
move one at a time (`course.replays.stepped_callers`); each figure is the pool's own.

At the end a batch is being sent, and the network reads its buffer. The producer gives up waiting
for it. If the buffer went back now, the next batch would get it, and would write other messages
over those that are being read: well-formed ones, so nobody would notice. Our accumulator never
gives it back. Source: S2 1; Kafka: BufferPool, RecordAccumulator, KAFKA-19012.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kminilog.cluster.requests import decode_request
from kminilog.config import complete_config
from kminilog.course.replays.stepped_callers import Caller, SteppedPool
from kminilog.errors import BufferExhaustedError
from kminilog.explain.document import (
    Ask,
    Bar,
    ByteRange,
    Document,
    Picture,
    PictureLane,
    Table,
    Value,
)
from kminilog.explain.field_layout import message_fields
from kminilog.explain.recording import Recording, ask, question_with_enough_choices
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.producer.accumulator import Accumulator
from kminilog.producer.batch import SendFuture, Waiting
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.text import agreeing, count, shown

# ---- callers, and what becomes of what they do


class Take(NamedTuple):
    """Somebody asks for a buffer of this size, and waits at most so long."""

    who: str
    size_bytes: int
    wait_ms: int = 1_000


class GiveBack(NamedTuple):
    """Somebody gives back the buffer that it has."""

    who: str


class TimePasses(NamedTuple):
    """Time passes."""

    duration_ms: int


Act = Take | GiveBack | TimePasses


class Ledger(NamedTuple):
    """Where the memory is, in bytes; all of them together are the total.

    `other_bytes` is what the first waiting call has collected, and what is lent to no caller of the
    plan: nothing, if nobody waits.
    """

    pooled_bytes: int
    available_bytes: int
    lent_bytes: int
    other_bytes: int


class ActOutcome(NamedTuple):
    """What an act did: the ledgers before and after, who was served after waiting, who gave up.

    `is_reused` says that a taken buffer had been another caller's before.
    """

    act: Act
    before: Ledger
    after: Ledger
    served: tuple[str, ...]
    gave_up: tuple[str, ...]
    is_reused: bool
    error: str


class PoolRun:
    """A pool, and who has which buffer of it or waits for one; `end` it."""

    def __init__(self, total_bytes: int, batch_bytes: int) -> None:
        self.stepped = SteppedPool(total_bytes, batch_bytes)
        self.holders: dict[str, Caller] = {}
        """Who has a buffer."""
        self.queue: dict[str, Caller] = {}
        """Who waits, in order."""
        self.deadlines_ms: dict[str, int] = {}
        self._seen: list[bytearray] = []
        self.began_ms = self.stepped.clock.now_ms()

    @property
    def now_ms(self) -> int:
        """The time since the beginning."""
        return self.stepped.clock.now_ms() - self.began_ms

    def ledger(self) -> Ledger:
        """Return where the memory is now."""
        pool = self.stepped.pool
        lent = sum(caller.size_bytes for caller in self.holders.values())
        rest = pool.memory_bytes - pool.pooled_bytes - pool.available_bytes - lent
        return Ledger(pool.pooled_bytes, pool.available_bytes, lent, rest)

    def number_of(self, buffer: bytearray) -> int:
        """Return the number of a buffer, from 1 on, in the order in which they were first lent."""
        for number, seen in enumerate(self._seen, start=1):
            if seen is buffer:
                return number
        self._seen.append(buffer)
        return len(self._seen)

    def do(self, act: Act) -> ActOutcome:
        """Do one act, and all that follows from it.

        Raises ValueError if somebody takes who has or wants a buffer, or gives back without one.
        """
        before, waiting, known = self.ledger(), dict(self.queue), len(self._seen)
        error = ""
        if isinstance(act, Take):
            error = self._take(act)
        elif isinstance(act, GiveBack):
            if act.who not in self.holders:
                raise ValueError(f"{act.who} has no buffer to give back")
            buffer = self.holders.pop(act.who).buffer
            assert buffer is not None
            self.stepped.give_back(buffer)
        else:
            self._let_pass(act.duration_ms)
        self._move()
        served = tuple(who for who in waiting if who in self.holders)
        gave_up = tuple(who for who in waiting if who not in self.holders | self.queue)
        taken = self.holders.get(act.who) if isinstance(act, Take) else None
        is_reused = bool(taken and taken.buffer is not None) and len(self._seen) == known
        return ActOutcome(act, before, self.ledger(), served, gave_up, is_reused, error)

    def end(self) -> None:
        """Let all callers end."""
        self.stepped.end()

    def _take(self, act: Take) -> str:
        if act.who in self.holders or act.who in self.queue:
            raise ValueError(f"{act.who} has a buffer, or waits for one")
        caller = self.stepped.allocate(act.size_bytes, act.wait_ms)
        if caller.error is not None:
            return str(caller.error)
        self.queue[act.who] = caller
        self.deadlines_ms[act.who] = self.now_ms + act.wait_ms
        return ""

    def _let_pass(self, duration_ms: int) -> None:
        self.stepped.clock.sleep_ms(duration_ms)
        for who, caller in list(self.queue.items()):
            if self.deadlines_ms[who] <= self.now_ms and caller.is_waiting:
                self.stepped.go_on(caller, False)
                assert isinstance(caller.error, BufferExhaustedError)

    def _move(self) -> None:
        """Note who of the queue has a buffer now, or has given up."""
        for who, caller in list(self.queue.items()):
            if caller.buffer is not None:
                self.number_of(caller.buffer)
                self.holders[who] = caller
            if not caller.is_waiting:
                del self.queue[who]


# ---- a batch in flight


FIRST = encode(KAFKA, 0, b"ann", b"pays 5")
SECOND = encode(KAFKA, 0, b"eve", b"gets 9")
MESSAGE_ROOM_BYTES = 48
"""A batch that has room for either message."""


def say_in_flight(recording: Recording, stepped: SteppedPool) -> None:
    """Show the fault, with the pool itself; then what the accumulator does.

    The pool must have a batch free without waiting.
    """
    pool, size = stepped.pool, stepped.pool.poolable_size_bytes
    buffer = pool.allocate(size, 0)
    buffer[: len(FIRST)] = FIRST
    _show(recording, "buffer, first batch", bytes(buffer[: len(FIRST)]), size)
    recording.step(
        "A batch is in flight, which means that the network reads this buffer. The answer does "
        "not come, and the producer stops waiting for it.",
        focus=[ByteRange("buffer, first batch", 0, len(FIRST))],
        values=_figures(stepped),
    )
    pool.deallocate(buffer)
    recording.step(
        "Suppose its buffer goes back to the pool now. The pool cannot see that the network still "
        "reads it.",
        values=_figures(stepped),
    )
    others = []
    while (again := pool.allocate(size, 0)) is not buffer:  # the oldest free one comes first
        others.append(again)
    again[: len(SECOND)] = SECOND
    in_flight = bytes(buffer[: len(FIRST)])
    name = "buffer, second batch"
    recording.hide("buffer, first batch")
    _show(recording, name, in_flight, size)
    recording.step(
        "A later batch, for another partition, gets the same buffer and writes into it. The "
        "network is late. It reads a message of the wrong partition. Its CRC matches, so no "
        "broker notices (KAFKA-19012).",
        ask=_ask_what_is_sent(in_flight),
        focus=[ByteRange(name, 0, len(in_flight))],
        values={**_figures(stepped), "read by the network": _value_of(in_flight)},
    )
    for lent in (again, *others):
        pool.deallocate(lent)
    recording.hide(name)
    _say_kept(recording, stepped)


def _ask_what_is_sent(in_flight: bytes) -> Ask:
    first, second = _value_of(FIRST), _value_of(SECOND)
    return ask(
        f"The batch in flight holds {first}. A later batch with {second} gets the same buffer "
        "before the network has read it. What does the network send for the first batch?",
        _value_of(in_flight),
        "The network reads the buffer, and sends what is there now.",
        {
            first: "That would be right if there were a copy. But Kafka sends from the buffer "
            "itself.",
            second: "That would be right if the buffer was lent again.",
            "nothing: the CRC is wrong": "The second message is whole, and its own CRC matches.",
        },
    )


def _say_kept(recording: Recording, stepped: SteppedPool) -> None:
    """Put a batch in flight with the real accumulator, and close it."""
    size = stepped.pool.poolable_size_bytes
    config = complete_config({"batch.size": size}, PRODUCER_SETTINGS)
    accumulator = Accumulator(config, stepped.pool, stepped.clock)
    waiting = Waiting(SendFuture(), None)
    accumulator.append(TopicPartition("orders", 0), b"ann", b"pays 5", len(FIRST), waiting)
    (batch,) = accumulator.drain()
    memory = stepped.pool.memory_bytes
    before = stepped.pool.pooled_bytes + stepped.pool.available_bytes
    accumulator.close()
    after = stepped.pool.pooled_bytes + stepped.pool.available_bytes
    rows: list[tuple[Value, ...]] = []
    lanes = []
    for name, free in (("in flight", before), ("given up, and the producer closed", after)):
        used, row = memory - free, (0, len(rows))
        bars = Bar(0, used, "in flight", "key", row=row), Bar(used, memory, "free", "size", row=row)
        lanes.append(PictureLane(name, 0, memory, bars, count(memory, "byte")))
        rows.append((name, free, used))
    recording.step(
        "So a buffer does not go back to the pool as long as its batch is in flight, even if "
        "nobody waits for the batch any more. It goes back when the answer has come.",
        values={**_figures(stepped), "still in the buffer": _value_of(batch.data())},
        tables=[Table("The batch of the accumulator", ("batch", "free", "in use"), tuple(rows))],
        picture=Picture("The memory, before and after the producer is closed", tuple(lanes)),
    )


def _value_of(data: bytes) -> str:
    ((_, value),) = decode_request(data)
    return shown(value)


def _figures(stepped: SteppedPool) -> dict[str, Value]:
    return {"free list": stepped.pool.pooled_bytes, "unpooled": stepped.pool.available_bytes}


def _show(recording: Recording, name: str, data: bytes, size: int) -> None:
    recording.file(name, data, message_fields(name, KAFKA, 0, data), size_bytes=size)


# ---- the steps


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
    recording = Recording("buffer-pool", "How a producer shares out its memory")
    run = PoolRun(total_bytes, batch_bytes)
    asked: set[str] = set()
    try:
        recording.step(
            f"A producer has one pool of memory, here of buffer.memory = {total_bytes} bytes. The "
            "pool keeps buffers of one size for reuse, the poolable size: batch.size = "
            f"{batch_bytes}. There is no buffer yet.",
            values=_values(run),
            tables=_tables(run),
            picture=_picture(run),
        )
        for act in default_plan(total_bytes, batch_bytes) if plan is None else plan:
            outcome = run.do(act)
            recording.step(
                _said(run, outcome),
                ask=_question(run, outcome, asked),
                values=_values(run),
                tables=_tables(run, () if isinstance(act, TimePasses) else (act.who,)),
                picture=_picture(run, "" if isinstance(act, TimePasses) else act.who),
            )
        if plan is None:
            say_in_flight(recording, run.stepped)
            recording.step(
                _at_the_end(run), values=_values(run), tables=_tables(run), picture=_picture(run)
            )
    finally:
        run.end()
    return recording.document()


def _at_the_end(run: PoolRun) -> str:
    missing = count(run.ledger().other_bytes, "byte")
    return (
        f"At the end, {missing} still belong to a batch that nobody waits for any more. That "
        "is the price of never sending a wrong message."
    )


def _values(run: PoolRun) -> dict[str, Value]:
    pool = run.stepped.pool
    return {
        "time in ms": run.now_ms,
        "free list": pool.pooled_bytes,
        "unpooled": pool.available_bytes,
        "waiting calls": pool.waiter_count,
    }


def _picture(run: PoolRun, who: str = "") -> Picture:
    """Return the memory as one lane, and below it who waits, each as long as it needs bytes."""
    pool, ledger = run.stepped.pool, run.ledger()
    parts = [(name, caller.size_bytes, "value") for name, caller in run.holders.items()]
    parts.append(("collected" if run.queue else "in flight", ledger.other_bytes, "key"))
    size = pool.poolable_size_bytes
    parts += [("free", size, "size")] * (ledger.pooled_bytes // size)
    parts.append(("unpooled", ledger.available_bytes, "free"))
    bars, at = [], 0
    for number, (name, length, style) in enumerate(parts):
        if length:
            key = name if name in run.holders else f"{name} {number - len(run.holders)}"
            here = " here" if name == who else ""
            bars.append(Bar(at, at + length, name, style + here, key))
        at += length
    waiting, at = [], 0
    for name, caller in run.queue.items():
        waiting.append(
            Bar(at, at + caller.size_bytes, name, "key here" if name == who else "key", name)
        )
        at += caller.size_bytes
    lanes = [
        PictureLane("memory", 0, pool.memory_bytes, tuple(bars), count(pool.memory_bytes, "byte"))
    ]
    lanes.append(
        PictureLane(
            "waiting", 0, max(at, pool.memory_bytes), tuple(waiting), "first come, first served"
        )
    )
    return Picture("The memory of the producer", tuple(lanes))


def _tables(run: PoolRun, names: Sequence[str] = ()) -> list[Table]:
    ledger = run.ledger()
    rows: list[tuple[Value, ...]] = [
        ("free list", ledger.pooled_bytes, "buffers of the poolable size, ready for reuse"),
        ("unpooled", ledger.available_bytes, "free memory that is no buffer"),
        ("in use: lent", ledger.lent_bytes, "buffers that callers have"),
        (
            "in use: other",
            ledger.other_bytes,
            "collected by the first in the queue, or in flight",
        ),
        ("total", sum(ledger), "always the same"),
    ]
    tables = [Table("Where the memory is, in bytes", ("where", "bytes", "what it is"), tuple(rows))]
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
        tables.append(Table("Who waits, in order", ("who", "needs", "until ms"), waits))
    return tables


def _said(run: PoolRun, outcome: ActOutcome) -> str:
    act = outcome.act
    if isinstance(act, Take):
        return _said_take(run, outcome, act)
    if isinstance(act, GiveBack):
        said = f"{act.who} gives its buffer back."
        if not outcome.served and outcome.after.pooled_bytes > outcome.before.pooled_bytes:
            said += " It has the poolable size, so the free list keeps it for reuse."
        elif not outcome.served:
            said += " It does not have the poolable size, so its bytes are unpooled again."
        return said + _and_then(run, outcome)
    return f"{act.duration_ms} ms pass." + _and_then(run, outcome)


def _said_take(run: PoolRun, outcome: ActOutcome, act: Take) -> str:
    wish = f"{act.who} asks for {count(act.size_bytes, 'byte')}"
    if outcome.error:
        return f"{wish} and gets an error at once: {outcome.error}"
    if act.who in run.queue:
        if len(run.queue) > 1:
            return (
                f"{wish} and waits at the end of the queue. Only the first in the queue may "
                "collect memory."
            )
        got = count(outcome.after.other_bytes, "byte")
        return (
            f"{wish}. There is not enough memory, so it waits. It is the first in the queue, so it "
            f"takes what is there, {got}, and collects more when buffers come back."
        )
    if outcome.is_reused:
        return (
            f"{wish}, which is the size of a batch. It gets a buffer from the free list. The old "
            "content is still in it."
        )
    broken = outcome.before.pooled_bytes - outcome.after.pooled_bytes
    if broken > 0:
        buffers = count(broken // run.stepped.pool.poolable_size_bytes, "buffer")
        return (
            f"{wish}, which is not the poolable size. There is not enough unpooled memory, so the "
            f"pool gives up {buffers} of the free list."
        )
    return f"{wish} and gets a new buffer, made of unpooled memory."


def _and_then(run: PoolRun, outcome: ActOutcome) -> str:
    said = ""
    if outcome.gave_up:
        names = ", ".join(outcome.gave_up)
        said += (
            f" The time of {names} is over, so it gets an error. The memory that it has collected "
            "goes back."
        )
    if outcome.served:
        names = " and ".join(outcome.served)
        are = agreeing("are", len(outcome.served))
        said += f" Now {names} {are} served, in the order of the queue."
    elif run.queue and not outcome.gave_up:
        first = next(iter(run.queue))
        said += f" {first} collects these bytes, and goes on waiting."
    return said


def _question(run: PoolRun, outcome: ActOutcome, asked: set[str]) -> Ask | None:
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


def _ask_comes_back(run: PoolRun, outcome: ActOutcome) -> Ask:
    assert isinstance(outcome.act, GiveBack)
    total, before, after = run.stepped.pool.memory_bytes, outcome.before, outcome.after
    back = before.lent_bytes - after.lent_bytes
    return ask(
        f"{outcome.act.who} gives back {count(back, 'byte')}. How many bytes are unpooled after "
        "that?",
        str(after.available_bytes),
        "A buffer of the poolable size goes to the free list. Unpooled memory stays the same."
        if after.pooled_bytes > before.pooled_bytes
        else "Only a buffer of the poolable size is kept.",
        {
            str(before.available_bytes + back): "The buffer is free, but not unpooled. It has the "
            "poolable size, so it stays a buffer.",
            str(before.available_bytes): "The buffer does not have the poolable size, so it is "
            "not kept.",
            str(before.available_bytes - back): "These bytes were taken off already, when the "
            "buffer was lent.",
            str(total + back): "The total never changes.",
        },
    )


def _ask_queue(run: PoolRun, outcome: ActOutcome) -> Ask:
    assert isinstance(outcome.act, GiveBack)
    waiting = [*outcome.served, *run.queue]
    right = f"{', '.join(outcome.served)}, in this order"
    wrong = {
        f"{waiting[-1]} first": "That is a stack. The first to come might wait for ever.",
        "who needs the least": "Then a large request might wait for ever. The queue keeps its "
        "order.",
        "nobody before all of them can": "Each one leaves the queue as soon as it has its bytes.",
    }
    return ask(
        f"{' and '.join(waiting)} {agreeing('wait', len(waiting))}, in this order. "
        f"{outcome.act.who} gives back "
        f"{count(outcome.before.lent_bytes - _still_lent(run, outcome), 'byte')}. Who is served?",
        right,
        "The first in the queue collects memory. If some is left, it wakes the next one.",
        wrong,
    )


def _still_lent(run: PoolRun, outcome: ActOutcome) -> int:
    """Return what was lent before the act and is lent still."""
    holders = run.holders.items()
    return sum(caller.size_bytes for who, caller in holders if who not in outcome.served)


def _ask_gives_up(run: PoolRun, outcome: ActOutcome) -> Ask:
    who = outcome.gave_up[0]
    right = "they go back"
    if outcome.served:
        right += f", and {outcome.served[0]} is served"
    return ask(
        f"{who} has collected {count(outcome.before.other_bytes, 'byte')}, and its time is "
        "over. What happens to these bytes?",
        right,
        "A call that fails keeps no memory, and wakes the next one.",
        {
            "they are lost": "That happens in the code of the documents: each time-out makes the "
            "pool smaller.",
            f"{who} keeps them for its next call": "A call that fails keeps no memory. The next "
            "call begins again.",
            "they come back when the pool is closed": "That is too late. Others wait for this "
            "memory now.",
        },
    )
