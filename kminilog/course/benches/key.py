"""The bench of a key: its hash as bits, its partition, and which keys move if there is one more.

    h, h >>> 15, their xor, without the sign     the last round of murmur2, each as 32 bits
    20 keys, of N and of N + 1 partitions        a key that moves is marked

`format.hashing` computes all of it. Source: ours; Kafka: Utils.murmur2.
"""

from collections.abc import Mapping, Sequence

from kminilog.course.benches.bench import Bench, BenchField, whole_number
from kminilog.explain.document import (
    Bar,
    Cost,
    Document,
    Picture,
    PictureLane,
    State,
    Step,
    Table,
    Value,
)
from kminilog.explain.murmur2 import bits_lane, rounds
from kminilog.format.hashing import murmur2, to_positive
from kminilog.text import agreeing, count, shown_in

MAX_KEY_BYTES = 4096
MOST_PARTITIONS = 100
KEYS = tuple(f"TT{number:04}" for number in range(115, 135))
_COLUMNS = 60


def document(fields: Mapping[str, str], acts: Sequence[str]) -> Document:
    """Return one step: the key, its last round as bits, its partition, and what one more moves."""
    key = fields["key"].encode(errors="replace")
    if len(key) > MAX_KEY_BYTES:
        raise ValueError(f"the key has {len(key)} bytes; at most {MAX_KEY_BYTES} are hashed here")
    partitions = whole_number(fields["partitions"], "partitions", 1, MOST_PARTITIONS)
    hashed = murmur2(key)
    positive = to_positive(hashed)
    before, last = list(rounds(key))[-2:]
    words = {"h": before.h, "h >>> 15": last.mixed, "xor": last.h, "& 0x7fffffff": positive}
    moves = {one: _moves(one, partitions) for one in KEYS}
    moved = [slot for slot, (old, new) in enumerate(moves.values()) if old != new]
    rows = tuple((one, *both, "moves" if len({*both}) > 1 else "") for one, both in moves.items())
    table = Table(
        f"{len(moved)} of {len(KEYS)} keys move",
        ("key", f"of {partitions}", f"of {partitions + 1}", ""),
        rows,
        tuple(moved),
    )
    bits = [bits_lane(name, word) for name, word in words.items()]
    lanes = [_row(count(partitions + more, "partition"), moves, more) for more in (0, 1)]
    say = (
        f"{positive} modulo {partitions} is {positive % partitions}: the key goes to partition "
        f"{positive % partitions}. With one more partition, {len(moved)} of these {len(KEYS)} keys "
        f"{agreeing('go', len(moved))} elsewhere."
    )
    values: dict[str, Value] = {
        "key": shown_in(key, _COLUMNS),
        "bytes": len(key),
        "murmur2": hashed,
        "without the sign bit": positive,
        "partition": positive % partitions,
        f"of {partitions + 1}": positive % (partitions + 1),
    }
    picture = Picture("The last round as bits; below, where 20 keys go", (*bits, *lanes))
    step = Step(say, None, (), State({}, values, (table,), picture), Cost())
    return Document("murmur2", BENCH.title, (), (), (step,))


def _moves(key: str, partitions: int) -> tuple[int, int]:
    positive = to_positive(murmur2(key.encode()))
    return positive % partitions, positive % (partitions + 1)


def _row(name: str, moves: Mapping[str, tuple[int, int]], slot: int) -> PictureLane:
    bars = [
        Bar(at, at + 1, str(both[slot]), "here" if len({*both}) > 1 else "free", row=(0, at))
        for at, both in enumerate(moves.values())
    ]
    return PictureLane(name, 0, len(bars), tuple(bars))


BENCH = Bench(
    "murmur2",
    "A key and its partition",
    (
        BenchField("key", "Key", "TT0124"),
        BenchField("partitions", "Partitions", "15", slider_end=MOST_PARTITIONS),
    ),
    (),
    document,
)
