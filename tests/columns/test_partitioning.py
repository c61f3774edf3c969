"""Where many records go at once: equal to the plain rules, and what a user's class may do wrong."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns.partitioning import PLACE_TEXT, STICKY_ROWS, Places, chooser
from kminilog.errors import PluginError, SettingError
from kminilog.format.hashing import murmur2, to_positive
from kminilog.format.java_hashing import java_hash
from kminilog.partitioners.keyed_rules import KEYED_RULES
from kminilog.partitioners.registry import PARTITIONERS
from tests.support.columns.strategies import column_of

KEYS = st.lists(st.none() | st.binary(max_size=20) | st.text(max_size=9).map(str.encode))
PARTITIONS = st.sampled_from([1, 2, 3, 7, 64, 100_000])
PLACE = st.tuples(st.integers(0, 2**20), st.integers(0, 2**50), st.integers(0, 2**40))
EXAMPLES = "kminilog.partitioners.examples"


def places_of(rows):
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return Places(*(np.array(column, np.int64) for column in columns))


def in_file(count, rank=0):
    return places_of([(rank, 0, row) for row in range(count)])


def drawn(seed, partitions, *parts):
    """What the plain hash of a seed and numbers says."""
    state = seed % 2**64
    for part in parts:
        state = splitmix((state + part) % 2**64)
    return state % partitions


def splitmix(number):
    number = (number + 0x9E3779B97F4A7C15) % 2**64
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ number >> 27) * 0x94D049BB133111EB % 2**64
    return number ^ number >> 31


def plain(partitioner, key, place, partitions, seed):
    """What the plain rules say for one record at its place, with a key or without."""
    rank, position, row = place
    if partitioner in KEYED_RULES and key is not None:
        return KEYED_RULES[partitioner](key, partitions)
    if partitioner in ("default-0.9", "round-robin"):
        return (rank + row) % partitions
    if partitioner == "random":
        return drawn(seed, partitions, rank, position, row)
    if partitioner == "default-0.8":
        return drawn(seed, partitions, 0, 0, 0)
    return drawn(seed, partitions, rank, 0, row // STICKY_ROWS)


@pytest.mark.parametrize("partitioner", PARTITIONERS)
@given(keys=KEYS, data=st.data(), partitions=PARTITIONS, seed=st.integers(-(2**70), 2**70))
def test_chooser_gives_each_record_the_place_of_the_plain_rule(
    partitioner, keys, data, partitions, seed
):
    rows = data.draw(st.lists(PLACE, min_size=len(keys), max_size=len(keys)))
    choose = chooser(partitioner, partitions, seed=seed)
    chosen = choose(data.draw(column_of(keys)), places_of(rows))
    assert chosen.dtype == np.int32
    expected = [
        plain(partitioner, *pair, partitions, seed) for pair in zip(keys, rows, strict=True)
    ]
    assert chosen.tolist() == expected


def test_keyed_rules_are_those_of_the_hashes():
    key = "größe".encode()
    for name in ("default-2.4", "default-0.9", "built-in"):
        assert KEYED_RULES[name](key, 7) == to_positive(murmur2(key)) % 7
    assert KEYED_RULES["default-0.8"](key, 7) == to_positive(java_hash("größe")) % 7
    assert KEYED_RULES["default-0.8"](b"\xff\xfe", 7) == to_positive(java_hash(b"\xff\xfe")) % 7


def test_drawn_partitions_are_even_and_change_with_the_seed():
    keys = pa.nulls(40_000, pa.binary())
    one, other = (chooser("random", 4, seed=seed)(keys, in_file(40_000)) for seed in (1, 2))
    assert all(abs(count - 10_000) < 600 for count in Counter(one.tolist()).values())
    assert 0.2 < (one == other).mean() < 0.3


def test_sticky_goes_on_in_one_partition_for_a_stretch_whatever_the_key():
    keys = pa.array([b"%d" % number for number in range(50 * STICKY_ROWS)])
    chosen = chooser("uniform-sticky", 8)(keys, in_file(len(keys))).reshape(50, STICKY_ROWS)
    assert (chosen == chosen[:, :1]).all()
    assert len(set(chosen[:, 0].tolist())) == 8


def changes(name, seed=0, *, files=1):
    """How often neighbours without a key have different partitions, and how many have which."""
    keys = pa.nulls(100 * STICKY_ROWS, pa.binary())
    places = in_file(len(keys))
    rank, row = divmod(places.row, len(keys) // files)
    chosen = chooser(name, 4, seed=seed)(keys, Places(rank, places.position, row))
    return int((np.diff(chosen) != 0).sum()), Counter(chosen.tolist())


@pytest.mark.parametrize("name", ["default-0.9", "round-robin"])
def test_keyless_records_go_in_turn_where_the_named_rule_does(name):
    count, found = changes(name)
    assert count == 100 * STICKY_ROWS - 1
    assert found == dict.fromkeys(range(4), 25 * STICKY_ROWS)


@pytest.mark.parametrize("name", ["default-2.4", "built-in", "uniform-sticky", "sticky-cache"])
def test_keyless_records_stay_for_a_stretch_where_the_named_rule_sticks(name):
    count, found = changes(name)
    assert 50 < count < 100
    assert all(13 * STICKY_ROWS < times < 37 * STICKY_ROWS for times in found.values())
    assert 50 < changes(name, files=50)[0] < 150


@pytest.mark.parametrize("name", ["default-0.8", f"{EXAMPLES}.AlwaysTwo"])
def test_keyless_records_of_a_job_all_go_to_one_partition_where_the_named_rule_caches(name):
    found = [changes(name, seed, files=50)[1] for seed in range(20)]
    assert all(len(partitions) == 1 for partitions in found)
    assert {next(iter(partitions)) for partitions in found} == {0, 1, 2, 3}


@pytest.mark.parametrize("name", PARTITIONERS)
def test_every_name_of_the_suite_chooses_the_same_in_any_division(name):
    keys = pa.array([None if n % 3 == 0 else b"key %d" % (n % 11) for n in range(5000)])
    whole = chooser(name, 5, seed=3)(keys, in_file(5000))
    choose = chooser(name, 5, seed=3)
    parts = [
        choose(keys.slice(start, 700), Places(*(p[start : start + 700] for p in in_file(5000))))
        for start in reversed(range(0, 5000, 700))
    ]
    assert np.concatenate(parts[::-1]).tolist() == whole.tolist()
    assert set(whole.tolist()) == set(range(5))


def test_class_in_either_interface_is_asked_record_by_record():
    keys = pa.array([b"zhang", None, b"\xff", b"21"])
    old = chooser(f"{EXAMPLES}.AlwaysTwo", 3)(keys, in_file(4))
    assert old.tolist() == [2, 0, 2, 2]  # the old interface never sees a record without key
    new = chooser(f"{EXAMPLES}:CorrectedExample", 3)(keys, in_file(4))
    assert new.tolist() == [KEYED_RULES["default-2.4"](b"zhang", 3), 0] + [
        KEYED_RULES["default-2.4"](key, 3) for key in (b"\xff", b"21")
    ]


OWN = """
class SeesAll:
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        assert (topic, value, value_bytes) == ("orders", None, None)
        assert (key if isinstance(key, (bytes, type(None))) else key.encode()) == key_bytes
        assert len(cluster.partitions_for_topic(topic)) == 3
        return {str: 0, bytes: 1, type(None): 2}[type(key)]
class Fails:
    def __init__(self, properties):
        self.asked = 0
    def partition(self, key, number_of_partitions):
        self.asked += 1
        if self.asked == 3:
            raise RuntimeError("no more")
        return 0
class TooFar:
    def partition(self, key, number_of_partitions):
        return number_of_partitions if key == "bad" else 0
    def __init__(self, properties):
        pass
class Below:
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        return -1 if key == "bad" else 0
class Half:
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        return 0.5
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch):
    (tmp_path / "own_bulk_classes.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield "own_bulk_classes"
    sys.modules.pop("own_bulk_classes", None)


def test_class_sees_texts_bytes_and_none_as_at_the_producer(own):
    choose = chooser(f"{own}.SeesAll", 3, topic="orders")
    assert choose(pa.array([b"a", b"\xff", None, b""]), in_file(4)).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Fails", "partition raised RuntimeError: no more"),
        ("TooFar", "Invalid partition id: 3 .* range of \\[0, 2\\]"),
        ("Below", "Invalid partition id: -1 "),
        ("Half", "0.5, which is no whole number"),
    ],
)
def test_class_that_fails_is_named_with_the_place_of_the_record(own, name, reason):
    choose = chooser(f"{own}:{name}", 3)
    if name == "Fails":
        choose(pa.array([b"a", b"b"]), in_file(2))
    with pytest.raises(PluginError, match=reason) as caught:
        choose(pa.array([b"bad", b"worse"]), places_of([(4, 5, 6), (7, 8, 9)]))
    assert PLACE_TEXT.search(str(caught.value)).groups() == ("4", "5", "6")
    assert f"{own}:{name}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "error", "reason"),
    [
        ("mine", SettingError, "no partitioner 'mine'; there is: default-0.8, .*Class"),
        ("no_such_module.Mine", PluginError, "cannot import no_such_module"),
        ("collections.OrderedDict", PluginError, "no method partition"),
    ],
)
def test_chooser_that_cannot_be_had_is_refused(name, error, reason):
    with pytest.raises(error, match=reason):
        chooser(name, 3)
