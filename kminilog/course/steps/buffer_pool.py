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
from kminilog.explain.document import Bar, ByteRange, Document, Picture, PictureLane, Table, Value
from kminilog.explain.field_layout import message_fields
from kminilog.explain.script import Script
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.producer.accumulator import Accumulator
from kminilog.producer.batch import SendFuture, Waiting
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.text import count, shown

MAX_TOTAL_BYTES = 1 << 20
FIRST = encode(KAFKA, 0, b"ann", b"pays 5")
SECOND = encode(KAFKA, 0, b"eve", b"gets 9")
MESSAGE_ROOM_BYTES = 48
"""A batch that has room for either message."""
STEPS = (
    *("The pool", "An error at once", "First in the queue", "Last in the queue"),
    *("A buffer is used again", "Free buffers are given up", "A new buffer"),
    *("A buffer comes back", "Time passes"),
    *("A batch in flight", "Its buffer goes back", "Another batch gets its buffer"),
    *("Its buffer is kept", "The end"),
)


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
            if act.who in self.holders or act.who in self.queue:
                raise ValueError(f"{act.who} has a buffer, or waits for one")
            caller = self.stepped.allocate(act.size_bytes, act.wait_ms)
            if caller.error is None:
                self.queue[act.who] = caller
                self.deadlines_ms[act.who] = self.now_ms + act.wait_ms
            else:
                error = str(caller.error)
        elif isinstance(act, GiveBack):
            if act.who not in self.holders:
                raise ValueError(f"{act.who} has no buffer to give back")
            buffer = self.holders.pop(act.who).buffer
            assert buffer is not None
            self.stepped.give_back(buffer)
        else:
            self.stepped.clock.sleep_ms(act.duration_ms)
            for who, caller in self.queue.items():
                if self.deadlines_ms[who] <= self.now_ms and caller.is_waiting:
                    self.stepped.go_on(caller, False)
                    assert isinstance(caller.error, BufferExhaustedError)
        for who, caller in list(self.queue.items()):
            if caller.buffer is not None:
                self.number_of(caller.buffer)
                self.holders[who] = caller
            if not caller.is_waiting:
                del self.queue[who]
        served = tuple(who for who in waiting if who in self.holders)
        gave_up = tuple(who for who in waiting if who not in self.holders | self.queue)
        taken = self.holders.get(act.who) if isinstance(act, Take) else None
        is_reused = bool(taken and taken.buffer is not None) and len(self._seen) == known
        return ActOutcome(act, before, self.ledger(), served, gave_up, is_reused, error)

    def end(self) -> None:
        """Let all callers end."""
        self.stepped.end()


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
    told = Script(__file__, "buffer-pool", STEPS, total_bytes=total_bytes, batch_bytes=batch_bytes)
    run = PoolRun(total_bytes, batch_bytes)
    asked: set[str] = set()  # each question is asked once
    try:
        told.tell("The pool", values=_values(run), tables=_tables(run), picture=_picture(run))
        for act in default_plan(total_bytes, batch_bytes) if plan is None else plan:
            outcome = run.do(act)
            holders = run.holders.items()
            still_lent = sum(one.size_bytes for who, one in holders if who not in outcome.served)
            back = outcome.before.lent_bytes - still_lent
            question = ""
            if outcome.gave_up and outcome.before.other_bytes:
                question = "gives up"
            elif isinstance(act, GiveBack) and outcome.served:
                question = "queue"
            elif isinstance(act, GiveBack) and back and not run.queue:
                question = "comes back"
            who = "" if isinstance(act, TimePasses) else act.who
            told.tell(
                _step_of(run, outcome),
                asks=bool(question) and question not in asked,
                values=_values(run),
                tables=_tables(run, who),
                picture=_picture(run, who),
                back=back,
                queue=tuple(run.queue),
                **outcome._asdict(),
            )
            asked.add(question)
        if plan is None:
            _tell_in_flight(told, run.stepped)
            told.tell(
                "The end",
                values=_values(run),
                tables=_tables(run),
                picture=_picture(run),
                missing=run.ledger().other_bytes,
            )
    finally:
        run.end()
    return told.document()


def _step_of(run: PoolRun, outcome: ActOutcome) -> str:
    act = outcome.act
    if isinstance(act, GiveBack):
        return "A buffer comes back"
    if isinstance(act, TimePasses):
        return "Time passes"
    if outcome.error:
        return "An error at once"
    if act.who in run.queue:
        return "Last in the queue" if len(run.queue) > 1 else "First in the queue"
    if outcome.is_reused:
        return "A buffer is used again"
    if outcome.before.pooled_bytes > outcome.after.pooled_bytes:
        return "Free buffers are given up"
    return "A new buffer"


def _tell_in_flight(told: Script, stepped: SteppedPool) -> None:
    """Tell the fault, with the pool itself; then what the accumulator does.

    The pool must have a batch free without waiting.
    """
    pool, recording = stepped.pool, told.recording
    size, memory = pool.poolable_size_bytes, pool.memory_bytes
    buffer = pool.allocate(size, 0)
    buffer[: len(FIRST)] = FIRST
    name = "buffer, first batch"
    recording.file(name, FIRST, message_fields(name, KAFKA, 0, FIRST), size_bytes=size)
    focus = [ByteRange(name, 0, len(FIRST))]
    told.tell("A batch in flight", focus=focus, values=_figures(stepped))
    pool.deallocate(buffer)
    told.tell("Its buffer goes back", values=_figures(stepped))
    others = []
    while (again := pool.allocate(size, 0)) is not buffer:  # the oldest free one comes first
        others.append(again)
    again[: len(SECOND)] = SECOND
    in_flight = bytes(buffer[: len(FIRST)])
    recording.hide(name)
    name = "buffer, second batch"
    recording.file(name, in_flight, message_fields(name, KAFKA, 0, in_flight), size_bytes=size)
    sent = _value_of(in_flight)
    told.tell(
        "Another batch gets its buffer",
        focus=[ByteRange(name, 0, len(in_flight))],
        values={**_figures(stepped), "read by the network": sent},
        first=_value_of(FIRST),
        second=_value_of(SECOND),
        sent=sent,
    )
    for lent in (again, *others):
        pool.deallocate(lent)
    recording.hide(name)

    config = complete_config({"batch.size": size}, PRODUCER_SETTINGS)
    accumulator = Accumulator(config, pool, stepped.clock)
    waiting = Waiting(SendFuture(), None)
    accumulator.append(TopicPartition("orders", 0), b"ann", b"pays 5", len(FIRST), waiting)
    (batch,) = accumulator.drain()
    before = pool.pooled_bytes + pool.available_bytes
    accumulator.close()
    after = pool.pooled_bytes + pool.available_bytes
    rows: list[tuple[Value, ...]] = []
    lanes = []
    for name, free in (("in flight", before), ("given up, and the producer closed", after)):
        used, row = memory - free, (0, len(rows))
        bars = Bar(0, used, "in flight", "key", row=row), Bar(used, memory, "free", "size", row=row)
        lanes.append(PictureLane(name, 0, memory, bars, count(memory, "byte")))
        rows.append((name, free, used))
    told.tell(
        "Its buffer is kept",
        values={**_figures(stepped), "still in the buffer": _value_of(batch.data())},
        tables=[Table("The batch of the accumulator", ("batch", "free", "in use"), tuple(rows))],
        picture=Picture("The memory, before and after the producer is closed", tuple(lanes)),
    )


def _value_of(data: bytes) -> str:
    ((_, value),) = decode_request(data)
    return shown(value)


def _figures(stepped: SteppedPool) -> dict[str, Value]:
    return {"free list": stepped.pool.pooled_bytes, "unpooled": stepped.pool.available_bytes}


def _values(run: PoolRun) -> dict[str, Value]:
    figures = _figures(run.stepped)
    return {"time in ms": run.now_ms, **figures, "waiting calls": run.stepped.pool.waiter_count}


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
        here = " here" if name == who else ""
        waiting.append(Bar(at, at + caller.size_bytes, name, "key" + here, name))
        at += caller.size_bytes
    most = max(at, pool.memory_bytes)
    lanes = (
        PictureLane("memory", 0, pool.memory_bytes, tuple(bars), count(pool.memory_bytes, "byte")),
        PictureLane("waiting", 0, most, tuple(waiting), "first come, first served"),
    )
    return Picture("The memory of the producer", lanes)


def _tables(run: PoolRun, who: str = "") -> list[Table]:
    ledger = run.ledger()
    rows = (
        ("free list", ledger.pooled_bytes, "buffers of the poolable size, ready for reuse"),
        ("unpooled", ledger.available_bytes, "free memory that is no buffer"),
        ("in use: lent", ledger.lent_bytes, "buffers that callers have"),
        ("in use: other", ledger.other_bytes, "collected by the first in the queue, or in flight"),
        ("total", sum(ledger), "always the same"),
    )
    tables = [Table("Where the memory is, in bytes", ("where", "bytes", "what it is"), rows)]
    out: list[tuple[Value, ...]] = []
    for name, caller in run.holders.items():
        assert caller.buffer is not None
        out.append((name, caller.size_bytes, run.number_of(caller.buffer)))
    if out:
        marked = tuple(place for place, row in enumerate(out) if row[0] == who)
        tables.append(Table("Who has a buffer", ("who", "bytes", "buffer"), tuple(out), marked))
    if run.queue:
        waits = tuple(
            (name, caller.size_bytes, run.deadlines_ms[name]) for name, caller in run.queue.items()
        )
        tables.append(Table("Who waits, in order", ("who", "needs", "until ms"), waits))
    return tables
