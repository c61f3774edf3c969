"""Damage that looks like a torn tail and is none, for `step torn-tail`.

    [m0  m1~~~~~~~~~~~~~~~~~  m2]     the size of m1 was changed: it seems to end past the file

Only the search for a whole message after it tells the two apart. Source: ours. Kafka 0.8.2 cuts
here, and so loses m2.
"""

from contextlib import suppress
from typing import NamedTuple

from kminilog.course.steps.document import Ask, Range, Value
from kminilog.course.steps.recording import Recording, ask
from kminilog.course.steps.segment.partition import (
    add_log,
    message_ends,
    reader_of,
    temporary_log,
    without_keys,
)
from kminilog.course.steps.segment.torn_questions import outcome_table
from kminilog.errors import CorruptLogError
from kminilog.format.dialect import Dialect
from kminilog.format.message import Outcome, decode
from kminilog.settings import TopicSettings
from kminilog.storage.log_file import find_message
from kminilog.storage.recovery import RecoveryPlan, carry_out, plan_recovery

_FILE = "another .log"
_SIZE_AT = 8  # of a message


class _Damaged(NamedTuple):
    data: bytes
    starts: list[int]
    outcome: Outcome
    plan: RecoveryPlan
    found_at: int
    found_offset: int
    is_refused: bool


def _damage(dialect: Dialect) -> _Damaged:
    with temporary_log(dialect, TopicSettings()) as log:
        log.append(without_keys([b"first", b"second", b"third"]))
        (segment,) = log.segments()
        data = bytearray(segment.log_path.read_bytes())
        starts = [0, *message_ends(dialect, bytes(data))[:-1]]
        data[starts[1] + _SIZE_AT] = 1
        segment.log_path.write_bytes(data)
        plan = plan_recovery(reader_of(log))
        found = find_message(dialect, segment.log_path, starts[1], plan.log_end_offset)
        assert found, "the last message is whole"
        is_refused = True
        with suppress(CorruptLogError):
            carry_out(plan)
            is_refused = False
        outcome = decode(dialect, bytes(data), starts[1])
        return _Damaged(bytes(data), starts, outcome, plan, found[0], found[1].offset, is_refused)


def tell_false_torn_tail(recording: Recording, dialect: Dialect) -> None:
    """Tell in two steps why a fault with whole messages after it is no torn tail."""
    damaged = _damage(dialect)
    damage = damaged.plan.damage
    position = damaged.starts[1]
    add_log(recording, _FILE, dialect, damaged.data, starts=damaged.starts)
    values: dict[str, Value] = {
        "fault": damage and damage.reason,
        "valid up to byte": position,
        "log end offset": damaged.plan.log_end_offset,
    }
    recording.step(
        "Another log, of three messages. One byte in the size field of the second was changed, so "
        "the message seems to end far past the end of the file. For the decoder that is the same "
        "as a torn tail: more bytes needed.",
        focus=[Range(_FILE, position + _SIZE_AT, position + _SIZE_AT + 4)],
        values=values,
        tables=[outcome_table(damaged.outcome)],
    )
    lost = damage.lost_messages if damage else 0
    recording.step(
        f"A search at every byte finds a whole message with offset {damaged.found_offset} at byte "
        f"{damaged.found_at}. So a writer had come further, and the tail is not torn: it is "
        "damage. The partition takes no writes until a human forces the cut, which would lose "
        f"{lost} whole message.",
        ask=_ask_what_is_done(damaged),
        focus=[Range(_FILE, damaged.found_at, len(damaged.data))],
        values={
            **values,
            "decision": "refuse" if damaged.is_refused else "cut",
            "lost whole messages": lost,
        },
    )
    recording.hide(_FILE)


def _ask_what_is_done(damaged: _Damaged) -> Ask:
    position = damaged.starts[1]
    return ask(
        f"The log is valid up to byte {position}; then a message seems unfinished. At byte "
        f"{damaged.found_at} a whole message with offset {damaged.found_offset} stands. What does "
        "recovery do?",
        "it refuses, and changes nothing",
        "A dying writer leaves nothing whole after an unfinished message. So this is damage.",
        {
            f"it cuts the file at byte {position}": "Kafka 0.8.2 does that. It throws away whole "
            "messages, which were acknowledged.",
            "it skips the bad message and reads on": "Then a message would be missing without a "
            "word. Its size is not to be trusted either.",
        },
    )
