"""Checks of lab 6: where records go, and who says so."""

from collections.abc import Callable, Collection, Sequence
from functools import partial, reduce
from itertools import combinations, count, product
from operator import xor
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from kminilog.clock import ManualClock
from kminilog.cluster.metadata import ClusterMetadata, Node, PartitionInfo
from kminilog.config import complete_config
from kminilog.course.comparing import Comparer
from kminilog.course.counting import CountedBytes
from kminilog.errors import LeaderNotAvailableError, UnknownTopicOrPartitionError
from kminilog.format import hashing as library
from kminilog.format.dialect import KAFKA
from kminilog.format.hashing import to_int32
from kminilog.format.java_hashing import ABS_RULES, java_bytes_hash, java_string_hash
from kminilog.format.message import Message, encode, scan
from kminilog.partitioners.built_in import BuiltIn
from kminilog.partitioners.default_0_8 import Default08
from kminilog.partitioners.default_2_4 import Default24
from kminilog.partitioners.keyed_rules import hash_code_partition
from kminilog.partitioners.sticky import StickyPartitionCache
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.text import table

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


def _number(part: bytes, reading: str) -> int:
    """Return some bytes as one number, in a byte order, or as a port from Java reads them.

    Java's bytes are signed. A port that leaves out `& 0xff` adds them, or combines them by `^`;
    `last` is what signed=True of int.from_bytes gives: only the last byte is signed.
    """
    if reading in ("little", "big"):
        return int.from_bytes(part, "little" if reading == "little" else "big")
    if reading == "last":
        return int.from_bytes(part, "little", signed=True)
    placed = [(byte - 256 if byte > 127 else byte) << 8 * place for place, byte in enumerate(part)]
    return sum(placed) if reading == "add" else reduce(xor, placed, 0)


def _variant(
    data: bytes,
    *,
    words: str = "little",
    tail: str = "little",
    wraps: bool = True,
    signed_shifts: Collection[int] = (),
    length: bool = True,
    last_mix: bool = True,
) -> int:
    """Return murmur2 with one thing done otherwise."""

    def keep(number: int) -> int:
        return number & 0xFFFFFFFF if wraps else number

    def shift(number: int, places: int) -> int:
        return (to_int32(number) if places in signed_shifts else number) >> places

    whole = len(data) & ~3
    h = keep(0x9747B28C ^ (len(data) if length else 0))
    for start in range(0, whole, 4):
        k = keep(_number(data[start : start + 4], words) * 0x5BD1E995)
        k = keep((k ^ shift(k, 24)) * 0x5BD1E995)
        h = keep(keep(h * 0x5BD1E995) ^ k)
    rest = data[whole:]
    if rest and tail:
        h = keep((h ^ _number(rest, tail)) * 0x5BD1E995)
    if last_mix:
        h = keep((h ^ shift(h, 13)) * 0x5BD1E995)
        h = h ^ shift(h, 15)
    return to_int32(h)


SIGNED_BYTES = [*product(("little", "add", "xor"), ("little", "add", "xor", "last"))][1:]
SIGNED_SHIFTS = [each for n in (1, 2, 3) for each in combinations((24, 13, 15), n)]


def precondition_1(data: bytes) -> bool:
    """Tell if it is bytes: a text has no hash, and another sequence need not have one."""
    return isinstance(data, bytes)


def exercise_1(compare: Comparer, murmur2: Callable[..., Any]) -> None:
    chance = Random(6)
    keys = [b"a-little-bit-long-string", b"abc", b"21", b"foobar", b"", "键".encode(), b"x" * 301]
    keys += [chance.randbytes(length) for length in range(1, 40)]
    keys += [b"\0", b"a\0", b"abcd\0\0", bytes(8)]  # zero bytes count
    for data in keys:
        right = library.murmur2(data)
        unsigned = _variant(data, wraps=False) & 0xFFFFFFFF
        got = murmur2(data)  # without any wrap, or only at the end, or signed besides
        is_unwrapped = isinstance(got, int) and unsigned != right & 0xFFFFFFFF
        is_unwrapped = is_unwrapped and got & 0xFFFFFFFF == unsigned
        ports = {  # what a port from Java gives that leaves out & 0xff, or has >> for >>>
            "java-signed-bytes": [_variant(data, words=w, tail=t) for w, t in SIGNED_BYTES],
            "java-shift-signed": [_variant(data, signed_shifts=each) for each in SIGNED_SHIFTS],
        }
        compare.equal(
            f"murmur2({data!r})",
            lambda got=got: got,
            right,
            {
                "unsigned-result": right & 0xFFFFFFFF,
                "big-endian-words": _variant(data, words="big"),
                "tail-ignored": _variant(data, tail=""),
                "tail-reversed": _variant(data, tail="big"),
                "never-wraps": got if is_unwrapped else _variant(data, wraps=False),
                "length-not-mixed": _variant(data, length=False),
                "last-mix-missing": _variant(data, last_mix=False),
                **{code: got for code, wrong in ports.items() if got in wrong},
            },
        )
    least = bytes.fromhex("a7d6506c")
    compare.equal(f"murmur2({least!r})", lambda: murmur2(least), -(2**31))
    long = CountedBytes(chance.randbytes(8003))
    compare.equal(
        "murmur2(8003 bytes)",
        lambda: murmur2(long),
        library.murmur2(bytes(long)),
        raises={RecursionError: "recursion-for-each"},
    )
    what = "bytes that murmur2(8003 bytes) copies"
    compare.at_most(what, sum(long.copied), 20 * len(long), "copies-the-rest")  # of a word, too


def precondition_2(number: int) -> bool:
    """Tell if it is what a hash can be: a signed number of 32 bits."""
    return -(2**31) <= number < 2**31


def exercise_2(compare: Comparer, to_positive: Callable[..., Any]) -> None:
    chance = Random(6)
    numbers = [5, *(library.murmur2(key) for key, _ in ROWS)]
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
                "sign-bit-stays": number,
                "negative-to-zero": max(number, 0),
            },
        )


# ---- 6.3


def _masked(key: bytes) -> int:
    return library.murmur2(key) & 0x7FFFFFFF


def precondition_3(
    self: Any,
    topic: str,
    key: Any,
    key_bytes: bytes | None,
    value: Any,
    value_bytes: bytes | None,
    cluster: ClusterMetadata,
    number_of_partitions: int | None = None,
) -> bool:
    """Tell if the number of partitions, if it is given, is 1 at least, and the topic is there.

    Without the number, a topic that is not there is an error, which the text promises.
    """
    is_there = bool(cluster.partitions_for_topic(topic))
    return number_of_partitions is None or (number_of_partitions >= 1 and is_there)


def exercise_3(compare: Comparer, partition: Callable[..., Any]) -> None:
    own = Default24(Random(1))

    def ask(data: bytes, cluster: ClusterMetadata, *, topic: str = TOPIC, **named: Any) -> Any:
        key = named.pop("key", data.decode("utf-8", "replace"))
        return partition(own, topic, key, data, "value", b"value", cluster, **named)

    rows = [*(row for row in ROWS if row[0]), (b" Order 7", 15), (b"Order 7 ", 15)]
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
    cases = [
        (f"partition(key {key[:20]!r}, {n} partitions)", partial(ask, key, _cluster_of(n)), wanted)
        for (key, n), wanted in zip(rows, right, strict=True)
    ]
    compare.all_equal(cases, readings)
    _compare_without_key(compare, partition)

    keys = [b"alice", b"bob", b"carol", b"dave", b"erin", b"frank"]
    masked = [_masked(key) for key in keys]
    up, order, texts = [0, 1, 3, 4, 6], [3, 6, 1, 0, 5, 2, 4], [b"\0\5" + key for key in keys]

    def compare_all(what: str, give: Callable[[bytes], Any], right: Any, *readings: Any) -> None:
        calls = [f"partition(key {key!r}, {what})" for key in keys]
        gives = [partial(give, key) for key in keys]
        compare.all_equal(list(zip(calls, gives, right, strict=True)), readings)

    seven = [h % 7 for h in masked]
    compare_all(
        "7 partitions, 2 and 5 down",  # a broker is down: keys stay where they are
        lambda key: ask(key, _cluster_of(7, [2, 5])),
        seven,
        ("key-by-available", [up[h % 5] for h in masked]),
        ("key-by-available", [h % 5 for h in masked]),
    )
    all_down = _cluster_of(7, range(7))
    compare_all(
        "7 partitions, all down",
        lambda key: ask(key, all_down),
        seven,
        ("keyed-as-keyless", [own._cache.partition(TOPIC, all_down)] * len(keys)),
    )
    compare_all(
        "partitions in the order 3 6 1 0 5 2 4",
        lambda key: ask(key, ClusterMetadata.of_one_topic(TOPIC, order)),
        seven,
        ("key-by-place", [order[number] for number in seven]),
    )
    compare_all(
        "7 partitions, another topic has 11",
        lambda key: ask(key, _topics(**{TOPIC: 11, OTHER: 7}), topic=OTHER),
        seven,
        ("counts-other-topics", [h % 11 for h in masked]),
        ("counts-other-topics", [h % 18 for h in masked]),
    )
    compare_all(
        "its bytes b'\\0\\5…', 7 partitions",
        lambda key: ask(b"\0\5" + key, _cluster_of(7), key=key.decode()),
        [_masked(text) % 7 for text in texts],
        ("hashes-the-object", seven),
    )
    keys = [key.upper() for key in keys]  # a key that was asked before may be remembered
    masked = [_masked(key) for key in keys]
    for number in (3, 100):
        compare_all(
            f"7 partitions, number_of_partitions={number}",
            lambda key, number=number: ask(key, _cluster_of(7), number_of_partitions=number),
            [h % number for h in masked],
            *([("ignores-number", [h % 7 for h in masked])] if number == 3 else []),
        )
        keys = [key.title() for key in keys]
        masked = [_masked(key) for key in keys]
    compare_all("now 7", lambda key: ask(key, _cluster_of(7)), [h % 7 for h in masked])
    compare_all("now 11", lambda key: ask(key, _cluster_of(11)), [h % 11 for h in masked])
    _compare_by_bytes(compare, partition, own)
    own._cache = counting = _CountingCache(Random(1))  # type: ignore[assignment]
    for key in keys:
        ask(key, _cluster_of(7))
    what = f"questions to self._cache for {len(keys)} keys"
    compare.at_most(what, counting.count, 0, "asks-cache-for-keys")
    _compare_unknown(compare, lambda cluster: ask(b"alice", cluster), "partition(key b'alice'")


class _CountingCache(StickyPartitionCache):
    """Counts how often it is asked: each question may draw a partition."""

    count = 0

    def partition(self, topic: str, cluster: ClusterMetadata) -> int:
        self.count += 1
        return super().partition(topic, cluster)


def _cluster_of(n: int, unavailable: Sequence[int] = ()) -> ClusterMetadata:
    return ClusterMetadata.of_one_topic(TOPIC, range(n), unavailable)


def _compare_by_bytes(compare: Comparer, partition: Callable[..., Any], own: Default24) -> None:
    """Compare what a key without bytes gets, and no key, and bytes without a key."""
    cluster = _cluster_of(7)
    at = own._cache.partition(TOPIC, cluster)
    data = next(each for each in (b"a", b"b", b"c", b"d") if _masked(each) % 7 != at)
    ones = {"number_of_partitions": 1}
    for what, key, key_bytes, named, right in (
        ("key 'k', key_bytes None", "k", None, {}, at),
        ("no key, number_of_partitions=1", None, None, ones, at),
        (f"key None, key_bytes {data!r}", None, data, {}, _masked(data) % 7),
    ):
        call = f"partition({what}, 7 partitions, stuck to {at})"
        give = partial(partition, own, TOPIC, key, key_bytes, "value", b"v", cluster, **named)
        compare.equal(call, give, right)


def _compare_unknown(compare: Comparer, ask: Callable[[ClusterMetadata], Any], call: str) -> None:
    """Compare what becomes of a topic that is not in the metadata."""
    cluster = ClusterMetadata.of_one_topic(OTHER, range(4))
    compare.refuses(
        f"{call}, a topic that is not there)", lambda: ask(cluster), UnknownTopicOrPartitionError
    )


def _compare_without_key(compare: Comparer, partition: Callable[..., Any]) -> None:
    """Compare what an empty key and no key get, for caches that stick to other partitions."""
    cases = [(n, seed) for n in (7, 15) for seed in (1, 2, 3)]
    stuck = [Default24(Random(seed))._cache.partition(TOPIC, _cluster_of(n)) for n, seed in cases]
    empty = [_masked(b"") % n for n, _ in cases]

    def ask(n: int, seed: int, key: bytes | None) -> Any:
        own, text = Default24(Random(seed)), None if key is None else key.decode()
        return partition(own, TOPIC, text, key, "value", b"value", _cluster_of(n))

    for key, right, code, wrong in (
        (b"", empty, "empty-as-null", stuck),
        (None, stuck, "null-is-hashed", empty),
    ):
        what = "no key" if key is None else "key b''"
        where = [f"{n} partitions, stuck to {at}" for (n, _), at in zip(cases, stuck, strict=True)]
        calls = [f"partition({what}, {each})" for each in where]
        gives = [partial(ask, *case, key) for case in cases]
        compare.all_equal(list(zip(calls, gives, right, strict=True)), [(code, wrong)])
    own, cluster = Default24(Random(3)), _cluster_of(7)
    for at_first in (True, False):
        got = [partition(own, TOPIC, None, None, "value", b"v", cluster) for _ in range(6)]
        right = own._cache.partition(TOPIC, cluster) if at_first else got[0]
        code = "no-key-does-not-stick" if len(set(map(repr, got))) > 1 else None
        call = f"6 records without a key{'' if at_first else ', after on_new_batch'}"
        compare.equal(call, lambda got=got: got, [right] * 6, {code: got} if code else {})
        own.on_new_batch(TOPIC, cluster, right)
    compare.holds(got[0] != stuck[2], call, repr(got), "another partition than before")


# ---- 6.4


def _topics(**partitions: int) -> ClusterMetadata:
    node = Node(0)
    return ClusterMetadata(
        [node], [PartitionInfo(t, n, node) for t, count in partitions.items() for n in range(count)]
    )


def _ask(
    chooser: Any, cluster: ClusterMetadata, topic: str = TOPIC, key: bytes | None = None
) -> Any:
    return chooser.partition(topic, key, key, None, b"", cluster)


def _place(
    chooser: Any, cluster: ClusterMetadata, topic: str = TOPIC, key: bytes | None = None
) -> Any:
    """Place a record that begins a batch, as a producer does."""
    first = _ask(chooser, cluster, topic, key)
    if not getattr(chooser, "is_asked_again", True):
        return first
    if hasattr(chooser, "on_new_batch"):
        chooser.on_new_batch(topic, cluster, first)
    return _ask(chooser, cluster, topic, key)


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
        "6 records, 4 partitions, 1 is down",
        lambda: turns(ClusterMetadata.of_one_topic(TOPIC, range(4), [1])),
        [0, 2, 3, 0, 2, 3],
        {"rr-ignores-availability": [0, 1, 2, 3, 0, 1], "rr-place-not-number": [0, 1, 2, 0, 1, 2]},
    )
    compare.equal(
        "6 records, partitions in the order 3 1 0 2, 1 is down",
        lambda: turns(ClusterMetadata.of_one_topic(TOPIC, [3, 1, 0, 2], [1])),
        [3, 0, 2, 3, 0, 2],
        {"rr-sorts-by-number": [0, 2, 3, 0, 2, 3]},
    )
    compare.equal(
        "4 records, partitions in the order 1 2 0",
        lambda: turns(ClusterMetadata.of_one_topic(TOPIC, [1, 2, 0]), 4),
        [1, 2, 0, 1],
        {"rr-sorts-by-number": [0, 1, 2, 0]},
    )
    compare.equal(
        "4 records, 3 partitions, all are down",
        lambda: turns(ClusterMetadata.of_one_topic(TOPIC, [2, 0, 1], [0, 1, 2]), 4),
        [0, 1, 2, 0],
        {"rr-down-by-place": [2, 0, 1, 2]},
    )

    for plan in ("abababa", "aababbaabbb"):
        got = _of_topics(new(), plan, _topics(a=4, b=4))
        right = [plan[:place].count(topic) % 4 for place, topic in enumerate(plan)]
        together = [place % 4 for place in range(len(plan))]
        call = f"records for topics {' '.join(plan)}"
        mistakes = {"rr-one-counter-for-all-topics": together}
        compare.equal(call, lambda got=got: got, right, mistakes)
    plan = "aabcbacbbca"
    right = [plan[:place].count(topic) % "-acb".index(topic) for place, topic in enumerate(plan)]
    call = "records for topics a b c with 1 3 2 partitions"
    compare.equal(call, lambda: _of_topics(new(), plan, _topics(a=1, c=2, b=3)), right)

    def batches(count: int, partitions: int, key: bytes | None) -> list[Any]:
        made, cluster = new(), ClusterMetadata.of_one_topic(TOPIC, range(partitions))
        return [_place(made, cluster, key=key) for _ in range(count)]

    for partitions, key in ((4, None), (3, None), (4, b"alice")):
        records = "6 records with a key" if key else "6 records"
        compare.equal(
            f"{records} that each begin a batch, {partitions} partitions",
            lambda partitions=partitions, key=key: batches(6, partitions, key),
            [number % partitions for number in range(6)],
            {
                "rr-double-step": [(2 * number + 1) % partitions for number in range(6)],
                "rr-repeats-for-ever": [0] * 6,
            },
        )

    def some_batches() -> list[Any]:
        made, cluster = new(), _topics(a=4, b=4)
        plan = [("a", True), ("a", False), ("b", True), ("a", False), ("b", False), ("a", True)]
        return [(_place if begins else _ask)(made, cluster, topic=t) for t, begins in plan]

    compare.equal("records for a a b a b a, 3 begin a batch", some_batches, [0, 1, 0, 2, 1, 3])
    for ask in (_ask, _place):
        _compare_changes(compare, new(), ask)
    flapping = [ClusterMetadata.of_one_topic(TOPIC, range(4), down) for down in ((), (1,))]
    made = new()
    got = [_ask(made, flapping[number % 2]) for number in range(12)]
    call, code = "12 records, 1 goes down and up", "rr-begins-anew" if set(got) == {0} else None
    compare.holds(len(set(got)) > 1, call, repr(got), "more than one partition", code)
    for before in (0, 2):
        _compare_between(compare, new(), before)
    _compare_unknown(compare, lambda cluster: _ask(new(), cluster), "partition(no key")


def _compare_between(compare: Comparer, made: Any, before: int) -> None:
    """Compare the turn of a topic that is asked for while another one begins a batch.

    It was asked for some times before: then there is an answer of its own to repeat.
    """
    cluster = _topics(a=5, b=5)
    own = [_ask(made, cluster, "b") for _ in range(before)]
    answered = [_ask(made, cluster, "a") for _ in range(4)][-1]
    if getattr(made, "is_asked_again", True) and hasattr(made, "on_new_batch"):
        made.on_new_batch("a", cluster, answered)
    got = _ask(made, cluster, "b")
    call = f"b, after {'b ' * before}a a a a and on_new_batch of a"
    mistakes = {"rr-repeats-for-others": got} if got in (answered, *own) else {}
    compare.equal(call, lambda: got, before, mistakes)


def _of_topics(made: Any, plan: str, cluster: ClusterMetadata) -> list[Any]:
    return [_ask(made, cluster, topic) for topic in plan]


CHANGES: tuple[tuple[str, Sequence[int], Sequence[int]], ...] = (  # what, partitions, who is down
    ("at first", range(4), ()),
    ("then 1 is down", range(4), (1,)),
    ("then 1 is back", range(4), ()),
    ("then there are 6", range(6), ()),
    ("then all are down", range(6), range(6)),
    ("then all but 2 are back", (5, 4, 3, 2, 1, 0), (2,)),
)


def _compare_changes(compare: Comparer, made: Any, ask: Callable[..., Any]) -> None:
    """Compare the turns of one object while partitions come and go.

    How the turn goes on after a change is the student's choice, for as long as a turn was before.
    """
    asked, before = 0, 0
    for what, numbers, down in CHANGES:
        cluster = ClusterMetadata.of_one_topic(TOPIC, numbers, down)
        wanted = [number for number in numbers if number not in down] or sorted(numbers)
        got = [ask(made, cluster) for _ in range(before + len(wanted) + 2)]
        changing, settled = got[:before], got[before:]
        place = wanted.index(settled[0]) if settled[0] in wanted else 0
        turn = [wanted[(place + step) % len(wanted)] for step in range(len(settled))]
        if not set(changing) <= set(wanted):
            changing = [wanted[step % len(wanted)] for step in range(before)]
        frozen = [(asked + step) % 4 for step in range(len(got))]
        call, mistakes = f"{len(got)} records, {what}", {"rr-freezes-partitions": frozen}
        compare.equal(call, lambda got=got: got, [*changing, *turn], mistakes)
        asked, before = asked + len(got), len(wanted)


# ---- 6.5


OTHER = "views"  # a topic whose partition must stay as it is


class _Chance(Random):
    """Chance that draws one after the other, in whichever way it is asked, and counts that."""

    count = 0

    def getrandbits(self, k: int) -> int:
        self.on_draw()
        self.count += 1
        return (self.count - 1) % (1 << k)

    def random(self) -> float:
        return self.getrandbits(8) / 256

    def on_draw(self) -> None:
        """Do what happens meanwhile."""


class _Racing(_Chance):
    """Chance during which another thread moves the topic on, unless that must wait."""

    must_wait = False
    cache: Any
    to: int

    def on_draw(self) -> None:
        if self.cache._lock.locked():
            self.must_wait = True
        else:
            dict.__setitem__(self.cache._cached, TOPIC, self.to)


class _Watched(dict[str, int]):
    """The cached partitions; it knows if one was changed while nobody had the lock."""

    def __init__(self, lock: Any) -> None:
        super().__init__({OTHER: 1})
        self._lock = lock
        self.is_changed_without_lock = False

    def __setitem__(self, topic: str, partition: int) -> None:
        self._look()
        super().__setitem__(topic, partition)

    def __delitem__(self, topic: str) -> None:
        self._look()
        super().__delitem__(topic)

    def pop(self, *arguments: Any) -> Any:
        self._look()
        return super().pop(*arguments)

    def setdefault(self, topic: str, partition: Any = None) -> Any:
        if topic not in self:
            self._look()
        return super().setdefault(topic, partition)

    def update(self, *arguments: Any, **named: Any) -> None:
        self._look()
        super().update(*arguments, **named)

    def _look(self) -> None:
        if not self._lock.locked():
            self.is_changed_without_lock = True


def exercise_5(compare: Comparer, next_partition: Callable[..., Any]) -> None:
    kind = type("Cache", (StickyPartitionCache,), {"next_partition": next_partition})
    watched = []

    def at(partition: int | None, seed: int = 5) -> Any:
        cache = kind(Random(seed))
        cache._cached = _Watched(cache._lock)
        watched.append(cache._cached)
        if partition is not None:
            dict.__setitem__(cache._cached, TOPIC, partition)
        return cache

    _compare_stays(compare, at)
    _compare_moves(compare, at)
    _compare_first_draws(compare, at)
    _compare_races(compare, at)
    _compare_unknown_topic(compare, at)
    is_open = any(each.is_changed_without_lock for each in watched)
    call = "next_partition, self._lock at the change"
    compare.holds(not is_open, call, "free", "locked", "sticky-without-lock")


FOUR = ClusterMetadata.of_one_topic(TOPIC, range(4))


def _compare_stays(compare: Comparer, at: Callable[..., Any]) -> None:
    """Compare what becomes of a topic that another thread has moved on already."""
    asked = [(stuck, before) for stuck in range(4) for before in (-1, 0, 1, 2, 3)]
    asked = [(stuck, previous) for stuck, previous in asked if stuck != previous]
    caches = [at(stuck) for stuck, _ in asked]
    for cache in caches:
        cache._chance = _Chance()
    answers = [
        cache.next_partition(TOPIC, FOUR, previous)
        for cache, (_, previous) in zip(caches, asked, strict=True)
    ]
    moved = [ask for ask, got in zip(asked, answers, strict=True) if got != ask[0]]
    code = {
        tuple(asked): "sticky-moves-twice",
        tuple(ask for ask in asked if ask[1] != -1): "sticky-moves-twice",
        tuple(ask for ask in asked if ask[1] == -1): "sticky-moves-twice",
        tuple(ask for ask in asked if ask[0] == 0): "zero-is-falsy",
    }.get(tuple(moved))
    for cache, (stuck, previous), got in zip(caches, asked, answers, strict=True):
        call = f"next_partition('orders', cluster, {previous}), stuck to {stuck}"
        mistakes = {code: got} if code and got in range(4) else {}
        compare.equal(call, lambda got=got: got, stuck, mistakes)
        _compare_cached(compare, cache, call, got)
        compare.at_most(f"draws of {call}", cache._chance.count, 0, "draws-for-nothing")


def _compare_cached(compare: Comparer, cache: Any, call: str, got: Any) -> None:
    """Compare what is cached with what was answered, and look at lock and other topics."""
    stored = repr(cache._cached.get(TOPIC))
    compare.holds(stored == repr(got), f"cached after {call}", stored, repr(got), "sticky-forgets")
    other = cache._cached.get(OTHER)
    compare.holds(
        other == 1, f"topic {OTHER} after {call}", repr(other), "1", "sticky-forgets-topics"
    )
    is_locked = cache._lock.locked()
    compare.holds(not is_locked, f"lock after {call}", "locked", "free", "sticky-keeps-lock")


def _compare_moves(compare: Comparer, at: Callable[..., Any]) -> None:
    for unavailable in ((), (1,), (0, 1)):
        cluster = ClusterMetadata.of_one_topic(TOPIC, range(4), unavailable)
        wanted = [number for number in range(4) if number not in unavailable]
        moves = []
        for seed in range(40):
            stuck = wanted[seed % len(wanted)]
            cache = at(stuck, seed)
            moves.append((stuck, cache.next_partition(TOPIC, cluster, stuck), cache))
        code = _code_of_staying(
            [(stuck, stuck == got == cache._cached.get(TOPIC)) for stuck, got, cache in moves]
        )
        for stuck, got, cache in moves:
            call = f"next_partition('orders', cluster, {stuck}), stuck to {stuck}"
            expected = f"one of {[number for number in wanted if number != stuck]}"
            compare.holds(got != stuck, call, repr(got), expected, code)
            is_down = got in range(4) and got not in wanted
            why = "sticky-ignores-availability" if is_down else None
            compare.holds(got in wanted, call, repr(got), expected, why)
            _compare_cached(compare, cache, call, got)


def _code_of_staying(moves: Sequence[tuple[int, bool]]) -> str | None:
    """Return why a full partition is kept: always, only if its number is 0, or by chance."""
    kept = {stuck for stuck, stays in moves if stays}
    left = {stuck for stuck, stays in moves if not stays}
    if kept & left:
        return "sticky-draws-the-same"
    if kept == {0}:
        return "zero-is-falsy"
    return None if left else "sticky-never-moves"


def _compare_first_draws(compare: Comparer, at: Callable[..., Any]) -> None:
    every = (0, 1, 2, 3)
    for what, stuck, previous, down, wanted in (
        ("3 of 4 down", 2, 2, (0, 1, 3), (2,)),
        ("4 of 4 down", 2, 2, every, every),
        ("nothing cached", None, -1, (), every),
        ("nothing cached", None, 2, (), every),
        ("nothing cached", None, 0, (2,), (0, 1, 3)),
    ):
        cluster = ClusterMetadata.of_one_topic(TOPIC, range(4), down)
        answers = set()
        for seed in range(60):
            cache = at(stuck, seed)
            call = f"next_partition('orders', cluster, {previous}), {what}"
            got = cache.next_partition(TOPIC, cluster, previous)
            compare.holds(got in wanted, call, repr(got), f"one of {list(wanted)}")
            _compare_cached(compare, cache, call, got)
            answers.add(got)
        if stuck is None:
            asked = f"{call}, 60 times"
            compare.holds(answers == set(wanted), asked, repr(answers), f"all of {list(wanted)}")


def _compare_races(compare: Comparer, at: Callable[..., Any]) -> None:
    for stuck, previous, to, drawn in ((0, 0, 3, 1), (2, 2, 1, 0), (None, -1, 3, 0)):
        cache = at(stuck)
        cache._chance = racing = _Racing()
        racing.cache, racing.to = cache, to
        call = f"next_partition, stuck to {stuck}, another thread moves to {to} first"
        got = cache.next_partition(TOPIC, FOUR, previous)
        stored = cache._cached.get(TOPIC)
        during = "next_partition, self._lock during the draw"
        compare.holds(not racing.must_wait, during, "locked", "free", "sticky-draws-under-lock")
        compare.holds(stored == to, call, repr(got), str(to), "sticky-overwrites")
        compare.equal(call, lambda got=got: got, stored, {"sticky-answers-its-draw": drawn})


def _compare_unknown_topic(compare: Comparer, at: Callable[..., Any]) -> None:
    """Compare what becomes of a topic that is gone from the metadata."""
    cache, gone = at(2), _topics(**{OTHER: 4})
    call = "next_partition('orders', cluster, 2), orders is not in the cluster"
    give = partial(cache.next_partition, TOPIC, gone, 2)
    compare.refuses(call, give, UnknownTopicOrPartitionError, {"hides-unknown-topic": 2})
    is_locked = cache._lock.locked()
    compare.holds(not is_locked, f"lock after {call}", "locked", "free", "sticky-keeps-lock")


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


Records = Sequence[tuple[int, str]]
PLANS: tuple[tuple[str, Records], ...] = (
    # Sizes and marks: f fills the batch, k has a key, o and u go elsewhere, t is of another topic.
    ("records of 30 bytes, each batch full", [(30, "f")] * 9),
    ("records of 60 bytes, the third fills it", [(60, ""), (60, ""), (60, "f")] * 3),
    ("records of 30 bytes, no batch full", [(30, "")] * 16),
    ("200 bytes with a key, 60 without", [(200, "kf"), (60, ""), (200, "k"), (60, "f")]),
    ("200 bytes elsewhere, 60 here", [(200, "of"), (60, ""), (200, "u"), (60, "f")]),
    ("200 bytes in the one before, 60 here", [(200, "uf"), (60, ""), (200, "o"), (60, "f")]),
    ("60, 60, 10 with a key, 10", [(60, ""), (60, ""), (10, "kf"), (10, "f")]),
    ("60, 60, 10 elsewhere, 10", [(60, ""), (60, ""), (10, "of"), (10, "f")]),
    ("60, 60, 10 in the one before, 10", [(60, ""), (60, ""), (10, "uf"), (10, "f")]),
    ("100 bytes at once, then 99 and 1", [(100, "f"), (99, "f"), (1, "f"), (199, ""), (1, "")]),
    ("250 records of 1 byte", [(1, "")] * 250),
    ("records of 60 bytes, 2 topics", [(60, ""), (60, "tf"), (60, "f"), (60, "tf"), (60, "t")]),
)


def _by_batch(self: Any, topic: str, partition: int, size_bytes: int, **named: Any) -> None:
    is_here = self._current[topic].partition == partition
    by_key = named["has_key"] and not self._ignores_keys
    if named["is_batch_full"] and is_here and not by_key:
        self._switch(topic, named["cluster"])


def _by_bytes(
    *,
    keyed: bool = False,
    everywhere: bool = False,
    least: int = 1,
    most: int = 2,
    shared: bool = False,
    zero: bool = True,
) -> Any:
    """Return on_appended with one thing done otherwise; `least` and `most` are batch sizes."""

    def appended(self: Any, topic: str, partition: int, size_bytes: int, **named: Any) -> None:
        entry = self._current.get(topic)
        by_key = named["has_key"] and not self._ignores_keys and not keyed
        if entry is None or by_key or (entry.partition != partition and not everywhere):
            return
        if not (zero or entry.partition):
            return
        counter = self if shared else entry
        counter.produced_bytes = getattr(counter, "produced_bytes", 0) + size_bytes
        limit = (least if named["is_batch_full"] else most) * self._batch_size_bytes
        if counter.produced_bytes >= limit:
            counter.produced_bytes = 0
            self._switch(topic, named["cluster"])

    return appended


def _of_every_topic(self: Any, topic: str, partition: int, size_bytes: int, **named: Any) -> None:
    write = _by_bytes()
    for each in list(self._current):
        write(self, each, partition, size_bytes, **named)


READINGS = (
    ("sticky-ignores-open-batch", _by_bytes(most=1)),
    ("sticky-waits-for-full", _by_bytes(most=1 << 40)),
    ("sticky-by-batch", _by_batch),
    ("sticky-counts-keyed", _by_bytes(keyed=True)),
    ("sticky-counts-elsewhere", _by_bytes(everywhere=True)),
    ("sticky-counts-topics-together", _by_bytes(shared=True)),
    ("sticky-counts-topics-together", _of_every_topic),
    ("sticky-never-moves", _by_bytes(least=1 << 40, most=1 << 40)),
    ("zero-is-falsy", _by_bytes(zero=False)),
)


def _moves(write: Any, records: Records, start: int, **settings: Any) -> list[int]:
    """Return after which records `write` moves on, if the first ones go to partition `start`."""
    cluster = _topics(**{TOPIC: 4, OTHER: 4})
    chooser = type("Mine", (_Counting,), {"on_appended": write})(Random(3))
    chooser.configure(_PLAIN | settings)
    for topic in (TOPIC, OTHER):
        chooser.partition(topic, None, None, None, b"", cluster)
        chooser._current[topic].partition = start
    chooser.switches = 0
    found = []
    for number, (size, marks) in enumerate(records, 1):
        before = chooser.switches
        topic = OTHER if "t" in marks else TOPIC
        here = chooser._current[topic].partition
        place = (here + ("o" in marks) - ("u" in marks)) % 4
        named = {"has_key": "k" in marks, "is_batch_full": "f" in marks, "cluster": cluster}
        chooser.on_appended(topic, place, size, **named)
        found += [number] * (chooser.switches - before)
    return found


def exercise_6(compare: Comparer, on_appended: Callable[..., Any]) -> None:
    plans = [(what, records, start) for start in (2, 0) for what, records in PLANS]

    def moves_of(write: Any) -> list[list[int]]:
        return [_moves(write, records, start) for _, records, start in plans]

    calls = [f"on_appended, moves on after ({what})" for what, _, _ in plans]
    gives = [partial(_moves, on_appended, records, start) for _, records, start in plans]
    cases = list(zip(calls, gives, moves_of(BuiltIn.on_appended), strict=True))
    compare.all_equal(cases, [(code, moves_of(write)) for code, write in READINGS])
    records = [(60, "k"), (60, "kf"), (60, "k")]
    compare.equal(
        "on_appended, moves on after (keys ignored)",
        lambda: _moves(on_appended, records, 2, **{"partitioner.ignore.keys": True}),
        _moves(BuiltIn.on_appended, records, 2, **{"partitioner.ignore.keys": True}),
        {"sticky-ignores-setting": _moves(BuiltIn.on_appended, records, 2)},
    )
    records, other = [(30, "f")] * 12, {"batch.size": 250}
    compare.equal(
        "on_appended, moves on after (records of 30 bytes, batch.size is 250)",
        lambda: _moves(on_appended, records, 2, **other),
        _moves(BuiltIn.on_appended, records, 2, **other),
        {"batch-size-fixed": _moves(BuiltIn.on_appended, records, 2)},
    )
    chooser = type("Mine", (BuiltIn,), {"on_appended": on_appended})(Random(3))
    chooser.configure(_PLAIN)
    named = {"has_key": False, "is_batch_full": True, "cluster": _cluster_of(4)}
    compare.equal(
        "on_appended before any partition", lambda: chooser.on_appended(TOPIC, 0, 9, **named), None
    )
    drawn = f"{len(chooser._current)} partition"
    call = "on_appended before any partition, draws"
    compare.holds(not chooser._current, call, drawn, "none", "sticky-draws-early")


# ---- 6.7


def first_win(name: str) -> list[str]:
    """Return each step from the student's name, a key, to one of four partitions."""
    number = library.murmur2(name.encode())
    rows = [
        ("murmur2(key)", number),
        ("to_positive(…)", library.to_positive(number)),
        ("… % 4 partitions", library.to_positive(number) % 4),
    ]
    return table(("step", "gives"), rows)


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a segment of four messages; the first key has the student's name, one is empty.

    The two partitioners that 6.7 asks for place the first key differently.
    """
    keys = (f"{name}-key{number or ''}".encode() for number in count())
    key = next(each for each in keys if _masked(each) % 15 != hash_code_partition(each, 15))
    own = (key, b"where do I go?")
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
        "EMPTY_KEY_OFFSET": {"null-key-as-empty": null},
        "FIRST_WORD": {"big-endian-words": int.from_bytes(key[:4], "big")},
    }
    for name, value in solve_7(folder).items():
        compare.equal(name, lambda name=name: answers[name], value, mistakes.get(name))


# ---- 6.13

TEXTS = ("TT0124", "order4", "hello", "", "k1", "customer 4711", "gr\u00f6\u00dfe", "\u952e")
TEXTS += ("polygenelubricants", "key \U0001f511 and lock", "x" * 2000, " k1", "K1 ")
ABS = "default-0.8.abs"
MINUTES_10 = 600_000


def _settings(rule: str = "mask", interval: int = MINUTES_10) -> dict[str, Any]:
    """Return all settings of a producer, as a partitioner gets them."""
    changed = {ABS: rule, "topic.metadata.refresh.interval.ms": interval}
    return complete_config(changed, PRODUCER_SETTINGS)


def precondition_13(properties: Any) -> bool:
    """Tell if the settings name one of the two rules."""
    return properties[ABS] in ABS_RULES


def _hash_code(units: Sequence[int], start: int = 0) -> int:
    """Return `31 * h + unit` over some units, of any size; Java keeps the lowest 32 bits."""
    return reduce(lambda h, unit: 31 * h + unit, units, start)


def exercise_13(compare: Comparer, hash_code: Callable[..., Any]) -> None:
    made = {rule: hash_code(_settings(rule)) for rule in ABS_RULES}
    for rule, make_positive in ABS_RULES.items():
        cases = [(text, n) for n in (15, 7) for text in TEXTS]
        calls = [f"partition({text[:20]!r}, {n}), rule {rule}" for text, n in cases]
        gives = [partial(made[rule].partition, *case) for case in cases]

        def of(
            number: Callable[[str], int],
            cases: Sequence[tuple[str, int]] = cases,
            make_positive: Callable[[int], int] = make_positive,
        ) -> list[int]:
            """Return where a number, made positive, places all texts."""
            return [make_positive(number(text)) % n for text, n in cases]

        codes = [(java_string_hash(text), n) for text, n in cases]
        readings = [
            ("hash-code-of-bytes", of(lambda text: to_int32(_hash_code(text.encode())))),
            ("hash-code-of-bytes", of(lambda text: java_bytes_hash(text.encode()))),
            ("hash-code-of-code-points", of(lambda text: to_int32(_hash_code([*map(ord, text)])))),
            ("hash-code-starts-at-one", of(lambda text: to_int32(_hash_code(_units(text), 1)))),
            ("murmur2-in-0-8", of(lambda text: library.murmur2(text.encode()))),
            ("never-wraps", [_hash_code(_units(text)) % n for text, n in cases]),
            ("partition-signed-mod", [h % n for h, n in codes]),
            ("partition-signed-mod", [-(-h % n) if h < 0 else h % n for h, n in codes]),
            ("builtin-hash", [hash(text) % n for text, n in cases]),
            ("builtin-hash", [abs(hash(text)) % n for text, n in cases]),
            ("builtin-hash", [(hash(text) & 0x7FFFFFFF) % n for text, n in cases]),
        ]
        unsigned = [(h & 0xFFFFFFFF) % n for h, n in codes]
        if rule == "mask":
            readings += [("partition-unsigned", unsigned)]
            readings += [("partition-abs", [abs(h) % n for h, n in codes])]
            readings += [("partition-abs", [ABS_RULES["abs"](h) % n for h, n in codes])]
        else:
            readings += [("abs-of-unsigned", unsigned)]
            readings += [("abs-of-the-least", [abs(h) % n for h, n in codes])]
            readings += [("ignores-abs-rule", [(h & 0x7FFFFFFF) % n for h, n in codes])]
        compare.all_equal(
            list(zip(calls, gives, of(java_string_hash), strict=True)),
            readings,
        )


def _units(text: str) -> list[int]:
    """Return the UTF-16 code units of a text: Java's char."""
    data = text.encode("utf_16_be")
    return [int.from_bytes(data[place : place + 2]) for place in range(0, len(data), 2)]


# ---- 6.14


class _InTurn:
    """Chance that draws the places in turn, so that each draw is seen."""

    def __init__(self, first: int) -> None:
        self._next = first

    def randrange(self, stop: int) -> int:
        self._next += 1
        return (self._next - 1) % stop


REFRESH = "refresh"  # in a plan: the metadata was asked for again
Ask = tuple[int, str, str | None]  # the time, the topic, the key
LOSES_LEADER = "loses leader"  # in a plan: partition 1 of orders is down now
CACHE_PLANS: tuple[tuple[str, int, int, Sequence[Ask]], ...] = (
    # What, which partition is drawn first, the interval, and what is asked when.
    ("6 records at once", 1, MINUTES_10, [(9, TOPIC, None)] * 6),
    ("the first draw gives 0", 0, MINUTES_10, [(9, TOPIC, None)] * 3),
    (
        "records at 0, 600000, 600001, 600002, 1200001, 1200002 ms",
        1,
        MINUTES_10,
        [(at, TOPIC, None) for at in (0, 600_000, 600_001, 600_002, 1_200_001, 1_200_002)],
    ),
    ("records at 500000 and 600001", 1, MINUTES_10, [(n, TOPIC, None) for n in (500_000, 600_001)]),
    ("records at 7 ms and much later", 1, MINUTES_10, [(at, TOPIC, None) for at in (7, 10**12)]),
    ("the interval is -1", 1, -1, [(at, TOPIC, None) for at in (0, 1, MINUTES_10, 10**12)]),
    ("the interval is 0", 1, 0, [(at, TOPIC, None) for at in (5, 5, 6, 6, 7)]),
    (
        "two topics",
        1,
        MINUTES_10,
        [(at, topic, None) for at in (7, 9, 700_000) for topic in (TOPIC, OTHER)],
    ),
    (
        "another topic after 5 minutes, both after 10",
        1,
        MINUTES_10,
        [(7, TOPIC, None), (300_000, OTHER, None), (600_008, TOPIC, None), (600_009, OTHER, None)],
    ),
    (
        "a key after 10 minutes, none before and after",
        1,
        MINUTES_10,
        [
            (7, TOPIC, None),
            (600_008, TOPIC, "hello"),
            (600_020, TOPIC, None),
            (1_200_009, TOPIC, None),
        ],
    ),
    ("an empty key, none, a key", 1, 60, [(9, TOPIC, key) for key in ("", None, "hello", "")]),
    ("none, 1 goes down, none", 1, MINUTES_10, [(9, TOPIC, None), (9, LOSES_LEADER, None)] * 2),
    (
        "the metadata is asked for again",
        1,
        MINUTES_10,
        [(9, TOPIC, None), (10, REFRESH, None), (11, TOPIC, None), (12, TOPIC, None)],
    ),
)


def _chosen(method: Any, first: int, interval: int, asks: Sequence[Ask]) -> list[Any]:
    """Return what a method answers to all that is asked of one partitioner."""
    chooser = type("Mine", (Default08,), {"before_switch": method})(
        _InTurn(first),  # type: ignore[arg-type]
        ManualClock(),
    )
    chooser.configure(_settings("mask", interval))
    up = _topics(**{TOPIC: 4, OTHER: 4})
    found = []
    for at, topic, key in asks:
        if topic == REFRESH:
            chooser.on_metadata_refresh()
        elif topic == LOSES_LEADER:
            found.append(chooser.before_switch(TOPIC, key, _cluster_of(4, [1]), at))
        else:
            found.append(chooser.before_switch(topic, key, up, at))
    return found


def _kept_until(
    first: int,
    interval: int,
    asks: Sequence[Ask],
    *,
    begins: int | None = None,
    keeps: bool = True,
    slides: bool = False,
    zero_time_counts: bool = True,
    zero_time_clears: bool = False,
    least: int = 1,
    expires: bool = True,
    is_signed: bool = True,
    notes: bool = True,
    all_topics: bool = True,
    own_times: bool = False,
    shared: bool = False,
    keys_count: bool = True,
    looks: bool = False,
    empty_is_key: bool = True,
    zero_counts: bool = True,
) -> list[int]:
    """Return the answers of a rule that is right but for one thing."""
    kept: dict[str, int] = {}
    since = asks[0][0] if begins is None else begins
    draws, answers = count(first), []
    drawn_at: dict[str, int] = {}
    for at, asked, key in asks:
        if asked == REFRESH:
            kept.clear()
            continue
        down = 1 if asked == LOSES_LEADER else None
        topic = TOPIC if asked == LOSES_LEADER else asked
        if zero_time_clears and not since:
            kept.clear()
        since = since if since or zero_time_counts else at
        has_key = key is not None and (empty_is_key or key != "")
        began = drawn_at.get(topic, at) if own_times else since
        is_over = at - began >= interval + least and (interval >= 0 or not is_signed)
        if is_over and expires and (keys_count or not has_key):
            since = at if notes else since
            stay = kept if own_times or not all_topics else {}
            kept = {each: kept[each] for each in stay if each != topic}
        since = at if slides else since
        if has_key:
            answers.append(hash_code_partition(str(key).encode(), 4))
            continue
        place = "" if shared else topic
        is_there = keeps and place in kept and (zero_counts or kept[place] != 0)
        if not is_there or (looks and kept[place] == down):
            up = [number for number in range(4) if number != down]
            kept[place] = up[next(draws) % len(up)]
            drawn_at[topic] = at
        answers.append(kept[place])
    return answers


CACHE_READINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("cached-draws-always", {"keeps": False}),
    ("cached-too-short", {"least": 0}),
    ("cached-for-ever", {"expires": False}),
    ("cached-time-from-zero", {"begins": 0}),
    ("cached-time-slides", {"slides": True}),
    ("cached-minus-one-expires", {"is_signed": False}),
    ("cached-time-not-noted", {"notes": False}),
    ("cached-forgets-one-topic", {"all_topics": False}),
    ("cached-time-of-topic", {"own_times": True, "keys_count": False}),
    ("cached-for-all-topics", {"shared": True}),
    ("cached-keys-do-not-count", {"keys_count": False}),
    ("cached-looks-at-leader", {"looks": True}),
    ("empty-as-null", {"empty_is_key": False}),
    ("zero-is-falsy", {"zero_counts": False}),
    ("zero-is-falsy", {"zero_time_counts": False}),
    ("zero-is-falsy", {"zero_time_counts": False, "zero_time_clears": True}),
    ("zero-is-falsy", {"zero_counts": False, "zero_time_counts": False}),
)


def precondition_14(self: Any, topic: str, key: Any, cluster: ClusterMetadata, now_ms: int) -> bool:
    """Tell if time does not go back, and the key has a hash code: it is a text, or None."""
    is_later = self._refreshed_ms is None or now_ms >= self._refreshed_ms
    return is_later and (key is None or isinstance(key, str))


class _AlwaysThree:
    """A user's key partitioner."""

    def partition(self, key: Any, number_of_partitions: int) -> int:
        return 3


def exercise_14(compare: Comparer, before_switch: Callable[..., Any]) -> None:
    calls = [f"before_switch, {what}" for what, *_ in CACHE_PLANS]
    gives = [partial(_chosen, before_switch, *plan) for _, *plan in CACHE_PLANS]

    right = [_chosen(Default08.before_switch, *plan) for _, *plan in CACHE_PLANS]
    readings = [
        (code, [_kept_until(*plan, **otherwise) for _, *plan in CACHE_PLANS])
        for code, otherwise in CACHE_READINGS
    ]
    compare.all_equal(list(zip(calls, gives, right, strict=True)), readings)

    all_down = _cluster_of(5, range(5))
    chooser = Default08(Random(1), ManualClock())
    chooser.configure(_settings())
    compare.refuses(
        "before_switch(no key, all partitions are down)",
        lambda: before_switch(chooser, TOPIC, None, all_down, 7),
        LeaderNotAvailableError,
    )
    hello = hash_code_partition(b"hello", 5)
    for what, cluster in (
        ("all partitions are down", all_down),
        ("2 of 5", _cluster_of(5, [1, 2])),
    ):
        call = f"before_switch(key 'hello', {what})"
        give = partial(before_switch, chooser, TOPIC, "hello", cluster, 7)
        compare.equal(call, give, hello, {"key-by-available": _code_of_hello(cluster)})
    for key in (" hello", "Hello "):
        compare.equal(
            f"before_switch(key {key!r}, 5 partitions)",
            partial(before_switch, chooser, TOPIC, key, _cluster_of(5), 7),
            hash_code_partition(key.encode(), 5),
        )
    compare.equal(
        "before_switch(key 'hello', 5 partitions, another topic has 11)",
        lambda: before_switch(chooser, OTHER, "hello", _topics(**{TOPIC: 11, OTHER: 5}), 7),
        hello,
        {"counts-other-topics": hash_code_partition(b"hello", 11)},
    )
    own = Default08(Random(1), ManualClock(), lambda properties: _AlwaysThree())
    own.configure(_settings())
    compare.equal(
        "before_switch(key 'hello', a key partitioner that answers 3)",
        lambda: before_switch(own, TOPIC, "hello", _cluster_of(5), 7),
        3,
        {"key-partitioner-unused": hello},
    )
    for key in (None, "hello"):
        _compare_unknown(
            compare,
            lambda cluster, key=key: before_switch(chooser, TOPIC, key, cluster, 7),
            f"before_switch({'no key' if key is None else 'a key'}",
        )


def _code_of_hello(cluster: ClusterMetadata) -> int | None:
    up = len(cluster.available_partitions_for_topic(TOPIC))
    return hash_code_partition(b"hello", up) if up else None


# ---- 6.15 and 6.16

CUSTOMERS = ("alice", "bob", "TT0124", "order4", "polygenelubricants", "", "\u952e", "frank")
CUSTOMERS += (" alice", "Bob ")  # a blank and a capital are part of the name
ORDERS = tuple(
    f"{customer}{rest}" for customer in CUSTOMERS for rest in (":1", "", ":2:b", ":", ":1:bob:3")
)


def _first(key: Any, colon: Any) -> Any:
    return key.split(colon, 1)[0]


def _but_last(key: Any, colon: Any) -> Any:
    return key.rsplit(colon, 1)[0]


def _second(key: Any, colon: Any) -> Any:
    return key.partition(colon)[2]


PARTS = (
    ("customer-whole-key", lambda key, colon: key),
    ("customer-to-last-colon", _but_last),
    ("customer-is-order", _second),
    ("customer-is-order", lambda key, colon: key.split(colon)[-1]),
)


precondition_15 = precondition_13


def exercise_15(compare: Comparer, by_customer: Callable[..., Any]) -> None:
    cases = [(key, n) for n in (15, 7) for key in ORDERS]
    made = {rule: by_customer(_settings(rule)) for rule in ABS_RULES}
    for rule, make_positive in ABS_RULES.items():

        def of(number: Callable[[str], int], positive: Any = make_positive) -> list[int]:
            return [positive(number(key)) % n for key, n in cases]

        calls = [f"partition({key!r}, {n}), rule {rule}" for key, n in cases]
        gives = [partial(made[rule].partition, *case) for case in cases]
        right = of(lambda key: java_string_hash(_first(key, ":")))
        readings = [
            (code, of(lambda key, part=part: java_string_hash(part(key, ":"))))
            for code, part in PARTS
        ]
        readings += [
            ("murmur2-in-0-8", of(lambda key: library.murmur2(_first(key, ":").encode()))),
            ("hash-code-of-bytes", of(lambda key: java_bytes_hash(_first(key, ":").encode()))),
            ("builtin-hash", [hash(_first(key, ":")) % n for key, n in cases]),
            ("partition-signed-mod", [java_string_hash(_first(key, ":")) % n for key, n in cases]),
        ]
        code = "partition-abs" if rule == "mask" else "ignores-abs-rule"
        other = ABS_RULES["abs" if rule == "mask" else "mask"]
        readings += [(code, of(lambda key: java_string_hash(_first(key, ":")), other))]
        code = "partition-abs" if rule == "mask" else "abs-of-the-least"
        readings += [(code, of(lambda key: java_string_hash(_first(key, ":")), abs))]
        compare.all_equal(list(zip(calls, gives, right, strict=True)), readings)


def _compare_keyless(
    compare: Comparer, ask: Callable[[ClusterMetadata], Any], order: Sequence[int]
) -> None:
    """Compare where records without a key go: to the first available partition, or the first."""
    cases = (
        ("order 3 6 1 0 5 2 4, 3 down", order, (3,), 6),
        ("0 and 1 of 7 down", range(7), (0, 1), 2),
        ("order 3 6 1 0 5 2 4", order, (), 3),
        ("order 3 6 1 0 5 2 4, all down", order, order, 3),
    )
    calls = [
        (
            f"partition(no key, {what})",
            partial(ask, ClusterMetadata.of_one_topic(TOPIC, numbers, down)),
            right,
        )
        for what, numbers, down, right in cases
    ]
    readings = [
        ("keyless-to-zero", [0, 0, 0, 0]),
        ("rr-place-not-number", [1, 2, 0, 0]),
        ("rr-place-not-number", [1, 2, 0, 3]),
        ("keyless-ignores-availability", [3, 0, 3, 3]),
        ("keyless-to-least", [0, 2, 0, 0]),
        ("keyless-to-least", [0, 2, 0, 3]),
        ("null-is-hashed", [_masked(b"") % 7] * 4),
    ]
    compare.all_equal(calls, readings)


def exercise_16(compare: Comparer, by_customer: Callable[..., Any]) -> None:
    made = by_customer()
    if hasattr(made, "configure"):
        made.configure(_settings())

    def ask(data: bytes | None, cluster: ClusterMetadata, key: Any = None) -> Any:
        return made.partition(TOPIC, key, data, None, b"value", cluster)

    keys = [key.encode() for key in ORDERS] + [b"\xff\xfe:1", b"\xe9"]  # two are no UTF-8
    whose = [_first(key, b":") for key in keys]
    masked = [_masked(customer) for customer in whose]
    order = [3, 6, 1, 0, 5, 2, 4]

    def compare_all(what: str, cluster: ClusterMetadata, *readings: Any, key: Any = None) -> None:
        n = len(cluster.partitions_for_topic(TOPIC))
        calls = [f"partition(key_bytes {each!r}, {what})" for each in keys]
        gives = [partial(ask, each, cluster, key) for each in keys]
        compare.all_equal(
            list(zip(calls, gives, [h % n for h in masked], strict=True)), list(readings)
        )

    up = [0, 1, 3, 4, 6]
    for n in (15, 7):
        no_key = [0 if not customer else h % n for customer, h in zip(whose, masked, strict=True)]
        compare_all(
            f"{n} partitions",
            _cluster_of(n),
            *[(code, [_masked(part(key, b":")) % n for key in keys]) for code, part in PARTS],
            ("empty-as-null", no_key),
            ("empty-as-null", [h % n if key else 0 for key, h in zip(keys, masked, strict=True)]),
            ("partition-abs", [abs(library.murmur2(each)) % n for each in whose]),
            ("partition-signed-mod", [library.murmur2(each) % n for each in whose]),
            ("builtin-hash", [hash(each) % n for each in whose]),
            ("hash-code-after-0-8", [hash_code_partition(each, n) for each in whose]),
        )
    compare_all(
        "7 partitions, 2 and 5 down",
        _cluster_of(7, [2, 5]),
        ("key-by-available", [up[h % 5] for h in masked]),
        ("key-by-available", [h % 5 for h in masked]),
    )
    compare_all(
        "partitions in the order 3 6 1 0 5 2 4",
        ClusterMetadata.of_one_topic(TOPIC, order),
        ("key-by-place", [order[h % 7] for h in masked]),
    )
    dave = ("hashes-the-object", [_masked(b"dave") % 7] * len(keys))
    compare_all("key 'dave:9', 7 partitions", _cluster_of(7), dave, key="dave:9")

    _compare_keyless(compare, lambda cluster: ask(None, cluster), order)
    mixed = _topics(**{OTHER: 11, TOPIC: 7})
    compare_all(
        "7 partitions, another topic has 11",
        mixed,
        ("counts-other-topics", [h % 11 for h in masked]),
        ("counts-other-topics", [h % 18 for h in masked]),
    )
