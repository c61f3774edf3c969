"""Checks of lab 6: where records go, and who says so."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from kminilog.cluster.metadata import ClusterMetadata, Node, PartitionInfo
from kminilog.course.comparing import Comparer
from kminilog.format import hashing as library
from kminilog.format.dialect import KAFKA
from kminilog.format.hashing import to_int32
from kminilog.format.message import Message, encode, scan
from kminilog.partitioners.built_in import BuiltIn
from kminilog.partitioners.default_2_4 import Default24
from kminilog.partitioners.keyed_rules import hash_code_partition
from kminilog.partitioners.sticky import StickyPartitionCache

# Keys over n partitions that separate the readings of "hash mod n"; real ones, from bug reports.
ROWS = (
    (b"TT0124", 15),
    (b"f562ac3b-2224-4e25-a0ab-56094e10c239", 10),
    (b'Struct{documentKey={"_id": "638d1b94ce8def06be68b439"}}', 50),
    (b"354afe16-939a-4ea8-8e17-8bb0840b6886", 10),
    (b"", 15),
    ("键".encode(), 7),
)
TOPIC = "orders"
FILE = "00000000000000000000.log"


# ---- 6.1 and 6.2


def _variant(
    data: bytes,
    *,
    words: Any = "little",
    tail: Any = "little",
    signed_bytes: bool = False,
    wraps: bool = True,
    shifts_signed: bool = False,
    length: bool = True,
    last_mix: bool = True,
) -> int:
    """Return murmur2 with one thing done otherwise."""
    if shifts_signed:
        keep = to_int32
    else:
        keep = (lambda number: number & 0xFFFFFFFF) if wraps else (lambda number: number)
    whole = len(data) & ~3
    h = keep(0x9747B28C ^ (len(data) if length else 0))
    for start in range(0, whole, 4):
        k = keep(int.from_bytes(data[start : start + 4], words) * 0x5BD1E995)
        k = keep((k ^ k >> 24) * 0x5BD1E995)
        h = keep(keep(h * 0x5BD1E995) ^ k)
    rest = data[whole:]
    if rest and tail:
        number = int.from_bytes(rest, tail)
        if signed_bytes:
            number = 0
            for place, byte in enumerate(rest):
                number ^= (byte - 256 if byte > 127 else byte) << 8 * place
        h = keep((h ^ number) * 0x5BD1E995)
    if last_mix:
        h = keep((h ^ h >> 13) * 0x5BD1E995)
        h = h ^ h >> 15
    return to_int32(h)


def exercise_1(compare: Comparer, murmur2: Callable[..., Any]) -> None:
    chance = Random(6)
    keys = [b"a-little-bit-long-string", b"abc", b"21", b"foobar", b"", "键".encode(), b"x" * 301]
    keys += [chance.randbytes(length) for length in range(1, 40)]
    for data in keys:
        right = library.murmur2(data)
        unsigned = _variant(data, wraps=False) & 0xFFFFFFFF
        got = murmur2(data)  # without any wrap, or only at the end, or signed besides
        is_unwrapped = isinstance(got, int) and unsigned != right & 0xFFFFFFFF
        is_unwrapped = is_unwrapped and got & 0xFFFFFFFF == unsigned
        compare.equal(
            f"murmur2({data!r})",
            lambda got=got: got,
            right,
            {
                "unsigned-result": right & 0xFFFFFFFF,
                "big-endian-words": _variant(data, words="big"),
                "tail-ignored": _variant(data, tail=None),
                "tail-reversed": _variant(data, tail="big"),
                "java-signed-bytes": _variant(data, signed_bytes=True),
                "java-shift-signed": _variant(data, shifts_signed=True),
                "never-wraps": got if is_unwrapped else _variant(data, wraps=False),
                "length-not-mixed": _variant(data, length=False),
                "last-mix-missing": _variant(data, last_mix=False),
            },
        )


def exercise_2(compare: Comparer, to_positive: Callable[..., Any]) -> None:
    chance = Random(6)
    numbers = [library.murmur2(key) for key, _ in ROWS]
    numbers += [-1, -(2**31), 0, 5, 2**31 - 1, -(2**31) + 1]
    numbers += [chance.randrange(-(2**31), 2**31) for _ in range(50)]
    for number in numbers:
        compare.equal(
            f"to_positive({number})",
            lambda number=number: to_positive(number),
            number & 0x7FFFFFFF,
            {
                "partition-abs": abs(number),
                "partition-unsigned": number & 0xFFFFFFFF,
                "partition-signed-mod": number,
                "negative-to-zero": max(number, 0),
            },
        )


# ---- 6.3


def _same_reading(
    compare: Comparer,
    calls: Sequence[str],
    give: Callable[[int], Any],
    right: Sequence[int],
    readings: Sequence[tuple[str, Sequence[int]]],
) -> None:
    """Compare all calls. A reading has its code only if it explains what every call gave.

    One call may agree with a wrong reading by chance: there are few partitions, and the values of
    `hash` are other ones in each process.
    """
    got = [give(number) for number in range(len(calls))]
    code = next((code for code, wrong in readings if got == list(wrong)), None)
    for call, given, expected in zip(calls, got, right, strict=True):
        mistakes = {code: given} if code else {}
        compare.equal(call, lambda given=given: given, expected, mistakes)


def exercise_3(compare: Comparer, partition: Callable[..., Any]) -> None:
    def ask(key: bytes | None, cluster: ClusterMetadata, seed: int = 1) -> Any:
        own = Default24(Random(seed))
        text = None if key is None else key.decode("utf-8", "replace")
        return partition(own, TOPIC, text, key, "value", b"value", cluster)

    def cluster_of(n: int, unavailable: Sequence[int] = ()) -> ClusterMetadata:
        return ClusterMetadata.of_one_topic(TOPIC, range(n), unavailable)

    rows = [row for row in ROWS if row[0]]
    hashes = [(library.murmur2(key), n) for key, n in rows]
    readings = [
        ("partition-abs", [abs(h) % n for h, n in hashes]),
        ("partition-unsigned", [(h & 0xFFFFFFFF) % n for h, n in hashes]),
        ("partition-signed-mod", [h % n for h, n in hashes]),
        ("partition-signed-mod", [-(-h % n) if h < 0 else h % n for h, n in hashes]),
        ("partition-crc32", [crc32(key) % n for key, n in rows]),
        ("builtin-hash", [hash(key) % n for key, n in rows]),
        ("builtin-hash", [hash(key.decode()) % n for key, n in rows]),
        ("builtin-hash", [abs(hash(key)) % n for key, n in rows]),
        ("builtin-hash", [(hash(key) & 0x7FFFFFFF) % n for key, n in rows]),
    ]
    right = [(h & 0x7FFFFFFF) % n for h, n in hashes]
    calls = [f"partition(key {key[:20]!r}, {n} partitions)" for key, n in rows]
    _same_reading(
        compare, calls, lambda i: ask(rows[i][0], cluster_of(rows[i][1])), right, readings
    )

    for n in (7, 15):
        cluster = cluster_of(n)
        for seed in (1, 2, 3):
            stuck = Default24(Random(seed))._cache.partition(TOPIC, cluster)
            empty = (library.murmur2(b"") & 0x7FFFFFFF) % n
            compare.equal(
                f"partition(key b'', {n} partitions, stuck to {stuck})",
                lambda seed=seed, cluster=cluster: ask(b"", cluster, seed),
                empty,
                {"empty-as-null": stuck},
            )
            compare.equal(
                f"partition(no key, {n} partitions, stuck to {stuck})",
                lambda seed=seed, cluster=cluster: ask(None, cluster, seed),
                stuck,
                {"null-is-hashed": empty},
            )
    # A broker is down: keys stay where they are.
    down = cluster_of(7, [2, 5])
    available = [0, 1, 3, 4, 6]
    keys = [b"alice", b"bob", b"carol", b"dave", b"erin", b"frank"]
    masked = [library.murmur2(key) & 0x7FFFFFFF for key in keys]
    readings = [
        ("key-by-available", [available[h % 5] for h in masked]),
        ("key-by-available", [h % 5 for h in masked]),
    ]
    calls = [f"partition(key {key!r}, 7 partitions, 2 and 5 down)" for key in keys]
    right = [h % 7 for h in masked]
    _same_reading(compare, calls, lambda i: ask(keys[i], down), right, readings)


# ---- 6.4


def _two_topics() -> ClusterMetadata:
    node = Node(0)
    return ClusterMetadata(
        [node], [PartitionInfo(topic, n, node) for topic in ("a", "b") for n in range(4)]
    )


def _ask(
    chooser: Any, cluster: ClusterMetadata, topic: str = TOPIC, key: bytes | None = None
) -> Any:
    return chooser.partition(topic, key, key, None, b"", cluster)


def _place(chooser: Any, cluster: ClusterMetadata, topic: str = TOPIC) -> Any:
    """Place a record that begins a batch, as a producer does."""
    first = _ask(chooser, cluster, topic)
    if not getattr(chooser, "is_asked_again", True):
        return first
    if hasattr(chooser, "on_new_batch"):
        chooser.on_new_batch(topic, cluster, first)
    return _ask(chooser, cluster, topic)


def exercise_4(compare: Comparer, round_robin: Callable[[], Any]) -> None:
    def new() -> Any:
        made = round_robin()
        if hasattr(made, "configure"):
            made.configure({"round-robin.double-call-bug": False})
        return made

    def turns(cluster: ClusterMetadata, count: int = 6, key: bytes | None = None) -> list[Any]:
        made = new()
        return [_ask(made, cluster, key=key) for _ in range(count)]

    four = ClusterMetadata.of_one_topic(TOPIC, range(4))
    compare.equal(
        "6 records, 4 partitions",
        lambda: turns(four),
        [0, 1, 2, 3, 0, 1],
        {"rr-starts-at-one": [1, 2, 3, 0, 1, 2]},
    )
    by_key = (library.murmur2(b"alice") & 0x7FFFFFFF) % 4
    compare.equal(
        "6 records with a key, 4 partitions",
        lambda: turns(four, key=b"alice"),
        [0, 1, 2, 3, 0, 1],
        {"rr-looks-at-keys": [by_key] * 6},
    )
    compare.equal(
        "4 records, partitions in the order 1 2 0",
        lambda: turns(ClusterMetadata.of_one_topic(TOPIC, [1, 2, 0]), 4),
        [1, 2, 0, 1],
        {"rr-place-not-number": [0, 1, 2, 0]},
    )
    compare.equal(
        "6 records, 4 partitions, 1 is down",
        lambda: turns(ClusterMetadata.of_one_topic(TOPIC, range(4), [1])),
        [0, 2, 3, 0, 2, 3],
        {"rr-ignores-availability": [0, 1, 2, 3, 0, 1], "rr-place-not-number": [0, 1, 2, 0, 1, 2]},
    )
    compare.equal(
        "4 records, 3 partitions, all are down",
        lambda: turns(ClusterMetadata.of_one_topic(TOPIC, [2, 0, 1], [0, 1, 2]), 4),
        [0, 1, 2, 0],
        {"rr-down-by-place": [2, 0, 1, 2]},
    )

    def alternately() -> list[Any]:
        made, cluster = new(), _two_topics()
        return [_ask(made, cluster, topic) for topic in "abababa"]

    compare.equal(
        "records for topics a b a b a b a",
        alternately,
        [0, 0, 1, 1, 2, 2, 3],
        {"rr-one-counter-for-all-topics": [0, 1, 2, 3, 0, 1, 2]},
    )

    def batches(count: int, partitions: int) -> list[Any]:
        made, cluster = new(), ClusterMetadata.of_one_topic(TOPIC, range(partitions))
        return [_place(made, cluster) for _ in range(count)]

    for partitions in (4, 3):
        compare.equal(
            f"6 records that each begin a batch, {partitions} partitions",
            lambda partitions=partitions: batches(6, partitions),
            [number % partitions for number in range(6)],
            {
                "rr-double-step": [(2 * number + 1) % partitions for number in range(6)],
                "rr-repeats-for-ever": [0] * 6,
            },
        )

    def some_batches() -> list[Any]:
        made, cluster = new(), _two_topics()
        plan = [("a", True), ("a", False), ("b", True), ("a", False), ("b", False), ("a", True)]
        return [(_place if begins else _ask)(made, cluster, topic=t) for t, begins in plan]

    compare.equal("records for a a b a b a, 3 begin a batch", some_batches, [0, 1, 0, 2, 1, 3])


# ---- 6.5


class _Racing:
    """Chance during which another thread moves the topic on to partition 3, unless it must wait."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def randrange(self, stop: int) -> int:
        if not self._cache._lock.locked():
            self._cache._cached[TOPIC] = 3
        return 0


def exercise_5(compare: Comparer, next_partition: Callable[..., Any]) -> None:
    kind = type("Cache", (StickyPartitionCache,), {"next_partition": next_partition})
    four = ClusterMetadata.of_one_topic(TOPIC, range(4))

    def at(partition: int, seed: int = 5) -> Any:
        cache = kind(Random(seed))
        cache._cached[TOPIC] = partition
        return cache

    for stuck in range(4):
        for previous in {0, 1, 2, 3} - {stuck}:
            cache = at(stuck)
            call = f"next_partition('orders', cluster, {previous}), stuck to {stuck}"
            got = cache.next_partition(TOPIC, four, previous)
            has_moved = got != stuck and got in range(4)
            compare.equal(
                call, lambda got=got: got, stuck, {"sticky-moves-twice": got} if has_moved else {}
            )
            compare.equal(f"cached after {call}", lambda cache=cache: cache._cached[TOPIC], stuck)

    for unavailable in ((), (1,), (0, 1)):
        cluster = ClusterMetadata.of_one_topic(TOPIC, range(4), unavailable)
        wanted = [number for number in range(4) if number not in unavailable]
        moves = []
        for seed in range(40):
            stuck = wanted[seed % len(wanted)]
            cache = at(stuck, seed)
            moves.append((stuck, cache.next_partition(TOPIC, cluster, stuck), cache._cached[TOPIC]))
        _judge_moves(compare, moves, wanted)

    for unavailable, wanted in (((0, 1, 3), {2}), ((0, 1, 2, 3), {0, 1, 2, 3}), ((), {0, 1, 2, 3})):
        cluster = ClusterMetadata.of_one_topic(TOPIC, range(4), unavailable)
        down = f"{len(unavailable)} of 4 down"
        for seed in range(20):
            cache = at(2, seed)
            if not unavailable:
                del cache._cached[TOPIC]
                down = "nothing cached"
            call = f"next_partition('orders', cluster, 2), {down}"
            got = cache.next_partition(TOPIC, cluster, -1 if not unavailable else 2)
            compare.holds(got in wanted, call, repr(got), f"one of {sorted(wanted)}")
            stored = repr(cache._cached.get(TOPIC))
            compare.holds(
                stored == repr(got), f"cached after {call}", stored, repr(got), "sticky-forgets"
            )

    cache = at(0)
    cache._chance = _Racing(cache)
    call = "next_partition, another thread moves to 3 first"
    got = cache.next_partition(TOPIC, four, 0)
    stored = cache._cached[TOPIC]
    is_kept = stored == 3 or _locks(next_partition)
    compare.holds(is_kept, call, repr(got), "3", "sticky-overwrites")
    compare.equal(call, lambda: got, stored, {"sticky-answers-its-draw": 1})


def _judge_moves(
    compare: Comparer, moves: Sequence[tuple[int, Any, Any]], wanted: Sequence[int]
) -> None:
    """Judge moves away from a full partition: where from, what was answered, what is cached."""
    stays = [move for move in moves if move[0] == move[1]]
    code = "sticky-never-moves" if len(stays) == len(moves) else "sticky-draws-the-same"
    for stuck, got, cached in moves:
        call = f"next_partition('orders', cluster, {stuck}), stuck to {stuck}"
        expected = f"one of {[number for number in wanted if number != stuck]}"
        compare.holds(got != stuck, call, repr(got), expected, code)
        is_down = got in range(4) and got not in wanted
        why = "sticky-ignores-availability" if is_down else None
        compare.holds(got in wanted, call, repr(got), expected, why)
        compare.holds(
            cached == got, f"cached after {call}", repr(cached), repr(got), "sticky-forgets"
        )


def _locks(next_partition: Callable[..., Any]) -> bool:
    """Tell if nobody else could have moved on: the function draws while it has the lock."""
    cache = type("Cache", (StickyPartitionCache,), {"next_partition": next_partition})(Random(0))
    cache._cached[TOPIC] = 0
    seen = []

    class _Watching:
        def randrange(self, stop: int) -> int:
            seen.append(cache._lock.locked())
            return 0

    cache._chance = _Watching()
    cache.next_partition(TOPIC, ClusterMetadata.of_one_topic(TOPIC, range(4)), 0)
    return all(seen)


# ---- 6.6

_PLAIN = {
    "batch.size": 100,
    "partitioner.ignore.keys": False,
    "partitioner.adaptive.partitioning.enable": False,
    "partitioner.availability.timeout.ms": 0,
}


class _Counting(BuiltIn):
    """Counts how often it moves on."""

    switches = 0

    def _switch(self, topic: str, cluster: ClusterMetadata) -> Any:
        self.switches += 1
        return super()._switch(topic, cluster)


def _by_batch(self: Any, topic: str, partition: int, size_bytes: int, **named: Any) -> None:
    if named["is_batch_full"] and not (named["has_key"] and not self._ignores_keys):
        self._switch(topic, named["cluster"])


def _by_bytes(keyed: bool = False, everywhere: bool = False, least: int = 1, most: int = 2) -> Any:
    """Return on_appended with one thing done otherwise; `least` and `most` are batch sizes."""

    def appended(self: Any, topic: str, partition: int, size_bytes: int, **named: Any) -> None:
        current = self._current.get(topic)
        by_key = named["has_key"] and not self._ignores_keys and not keyed
        if current is None or by_key or (current.partition != partition and not everywhere):
            return
        current.produced_bytes += size_bytes
        limit = (least if named["is_batch_full"] else most) * self._batch_size_bytes
        if current.produced_bytes >= limit:
            self._switch(topic, named["cluster"])

    return appended


def exercise_6(compare: Comparer, on_appended: Callable[..., Any]) -> None:
    cluster = ClusterMetadata.of_one_topic(TOPIC, range(4))

    def moves(
        write: Any, records: Sequence[tuple[int, str]], ignores_keys: bool = False
    ) -> list[int]:
        """Return after which records it moves on. Marks: f a full batch, k a key, o another one."""
        chooser = type("Mine", (_Counting,), {"on_appended": write})(Random(3))
        chooser.configure(_PLAIN | {"partitioner.ignore.keys": ignores_keys})
        chooser.partition(TOPIC, None, None, None, b"", cluster)
        found = []
        for number, (size, marks) in enumerate(records, 1):
            before = chooser.switches
            here = chooser._current[TOPIC].partition
            place = (here + 1) % 4 if "o" in marks else here
            full, key = "f" in marks, "k" in marks
            named = {"has_key": key, "is_batch_full": full, "cluster": cluster}
            chooser.on_appended(TOPIC, place, size, **named)
            found += [number] * (chooser.switches - before)
        return found

    plans = (
        ("records of 30 bytes, each batch full", [(30, "f")] * 9),
        ("records of 60 bytes, the third fills it", [(60, ""), (60, ""), (60, "f")] * 3),
        ("records of 30 bytes, no batch full", [(30, "")] * 16),
        ("200 bytes with a key, 60 without", [(200, "kf"), (60, ""), (200, "k"), (60, "f")]),
        ("200 bytes elsewhere, 60 here", [(200, "of"), (60, ""), (200, "o"), (60, "f")]),
        ("100 bytes at once, then 99 and 1", [(100, "f"), (99, "f"), (1, "f"), (199, ""), (1, "")]),
    )
    for what, records in plans:
        compare.equal(
            f"on_appended, moves on after ({what})",
            lambda records=records: moves(on_appended, records),
            moves(BuiltIn.on_appended, records),
            {
                "sticky-ignores-open-batch": moves(_by_bytes(most=1), records),
                "sticky-waits-for-full": moves(_by_bytes(most=1 << 40), records),
                "sticky-by-batch": moves(_by_batch, records),
                "sticky-counts-keyed": moves(_by_bytes(keyed=True), records),
                "sticky-counts-elsewhere": moves(_by_bytes(everywhere=True), records),
                "sticky-never-moves": [],
            },
        )
    records = [(60, "k"), (60, "kf"), (60, "k")]
    compare.equal(
        "on_appended, moves on after (keys ignored)",
        lambda: moves(on_appended, records, ignores_keys=True),
        moves(BuiltIn.on_appended, records, ignores_keys=True),
    )
    chooser = type("Mine", (BuiltIn,), {"on_appended": on_appended})(Random(3))
    chooser.configure(_PLAIN)
    named = {"has_key": False, "is_batch_full": True, "cluster": cluster}
    compare.equal(
        "on_appended before any partition", lambda: chooser.on_appended(TOPIC, 0, 9, **named), None
    )


# ---- 6.7


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a segment of four messages; the first key has the student's name, one is empty."""
    own = (f"{name}-key".encode(), b"where do I go?")
    others = [(None, b"no key"), (b"", b"an empty key"), (b"k", b"a key")]
    Random(seed).shuffle(others)
    data = [encode(KAFKA, 40 + place, *pair) for place, pair in enumerate([own, *others])]
    (folder / FILE).write_bytes(b"".join(data))


def _messages(folder: Path) -> list[Message]:
    found = scan(KAFKA, (folder / "files" / FILE).read_bytes())
    return [outcome for _, outcome in found if isinstance(outcome, Message)]


def solve_7(folder: Path) -> dict[str, Any]:
    """Return the right constants of exercise 7, as the library reads the file."""
    messages = _messages(folder)
    key = messages[0].key or b""
    return {
        "EMPTY_KEY_OFFSET": next(each.offset for each in messages if each.key == b""),
        "FIRST_WORD": int.from_bytes(key[:4], "little"),
        "BY_DEFAULT_2_4": (library.murmur2(key) & 0x7FFFFFFF) % 15,
        "BY_DEFAULT_0_8": hash_code_partition(key, 15),
    }


def exercise_7(compare: Comparer, answers: dict[str, Any], folder: Path) -> None:
    messages = _messages(folder)
    key = messages[0].key or b""
    null = next(each.offset for each in messages if each.key is None)
    mistakes = {
        "EMPTY_KEY_OFFSET": {"null-as-empty": null},
        "FIRST_WORD": {"big-endian-words": int.from_bytes(key[:4], "big")},
    }
    for name, value in solve_7(folder).items():
        compare.equal(name, lambda name=name: answers[name], value, mistakes.get(name))
