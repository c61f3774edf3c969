"""Why the buffer of a batch in flight must not go back to the pool (KAFKA-19012).

A batch is being sent, and the network reads its buffer. The producer gives up waiting for it. If
the buffer goes back now, the next batch gets it, and writes other messages over those that are
being read: well-formed ones, so nobody notices. Our accumulator never gives it back. Source: Kafka:
KAFKA-19012, RecordAccumulator.
"""

from kminilog.cluster.requests import decode_request
from kminilog.config import complete_config
from kminilog.course.replays.stepped_callers import SteppedPool
from kminilog.course.steps.document import Ask, Range, Table, Value
from kminilog.course.steps.layout import message_fields
from kminilog.course.steps.recording import Recording, ask
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.producer.accumulator import Accumulator
from kminilog.producer.batch import SendFuture, Waiting
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.text import shown

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
        "A batch is in flight: the network reads this buffer. The answer does not come, and the "
        "producer gives up waiting for it.",
        focus=[Range("buffer, first batch", 0, len(FIRST))],
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
        "network, late, reads a message that was meant for that partition. Its CRC is right, so no "
        "broker notices (KAFKA-19012).",
        ask=_question(in_flight),
        focus=[Range(name, 0, len(in_flight))],
        values={**_figures(stepped), "read by the network": _value_of(in_flight)},
    )
    for lent in (again, *others):
        pool.deallocate(lent)
    recording.hide(name)
    _say_kept(recording, stepped)


def _question(in_flight: bytes) -> Ask:
    first, second = _value_of(FIRST), _value_of(SECOND)
    return ask(
        f"The batch in flight says {first}. A later batch, {second}, gets the same buffer before "
        "the network has read it. What does the network send for the first?",
        _value_of(in_flight),
        "It reads the buffer, and whatever stands there now.",
        {
            first: "Only if somebody had copied it. Kafka sends straight from the buffer.",
            second: "Only if the buffer was lent again.",
            "nothing: the CRC is wrong": "The second message is whole and has its own CRC.",
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
    before = stepped.pool.pooled_bytes + stepped.pool.available_bytes
    accumulator.close()
    after = stepped.pool.pooled_bytes + stepped.pool.available_bytes
    rows: tuple[tuple[Value, ...], ...] = (
        ("in flight", before, stepped.pool.memory_bytes - before),
        ("given up, and the producer closed", after, stepped.pool.memory_bytes - after),
    )
    recording.step(
        "So the accumulator keeps a buffer out of the pool as long as its batch is in flight, even "
        "if nobody waits for the batch any more. It goes back when the batch is complete.",
        values={**_figures(stepped), "still in the buffer": _value_of(batch.data())},
        tables=[Table("The batch of the accumulator", ("batch", "free", "in use"), rows)],
    )


def _value_of(data: bytes) -> str:
    ((_, value),) = decode_request(data)
    return shown(value)


def _figures(stepped: SteppedPool) -> dict[str, Value]:
    return {"free list": stepped.pool.pooled_bytes, "unpooled": stepped.pool.available_bytes}


def _show(recording: Recording, name: str, data: bytes, size: int) -> None:
    recording.file(name, data, message_fields(name, KAFKA, 0, data), size_bytes=size)
