"""The partitions of the records of a bulk job: a function of their keys and their places only.

A producer's partitioner remembers what it chose before. The tasks of a bulk job do not know each
other's choices, and may run twice. So a bulk job follows each rule as far as places go:

    name                        with a key         without a key
    default-2.4 built-in        murmur2            a stretch of STICKY_ROWS rows of a file stays in
                                                   one partition, drawn by seed, file and stretch
    default-0.9                 murmur2            in turn
    default-0.8                 Java's hash code   all in one partition, drawn by the seed
    round-robin                 in turn            in turn
    random                      drawn by seed and place, whatever the key
    uniform-sticky sticky-cache by stretches, whatever the key
    package.module.Class        the class is asked

At the producer, a sticky rule stays until a batch is full; a bulk job has no batches. default-0.8
forgets its partition after 10 minutes; a bulk job is one moment. *In turn* means: the row of a
record plus the number of its file, modulo the partitions. So files of one record each are spread
evenly, too. Rows with a key take their turns as well.

A class, and the rule of default-0.8 for keys, are asked record by record, which is slow. They get a
key that is UTF-8 as a text, as at the producer. Each task makes one instance of a class. The class
sees no values. In the old interface it sees no record without a key; default-0.8 places such a
record. Its answers should depend on the key only. Else they depend on how the source was divided
into tasks. Source: partitioners/.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.columns.mixing import mixed
from kminilog.columns.murmur2 import partition_column
from kminilog.config import complete_config
from kminilog.errors import KMiniLogError, PluginError
from kminilog.partitioners.custom import (
    SETTING,
    CustomKeyPartitioner,
    CustomPartitioner,
    has_old_interface,
)
from kminilog.partitioners.interface import check_partition
from kminilog.partitioners.keyed_rules import KEYED_RULES, as_key_object
from kminilog.partitioners.registry import checked_name, is_path
from kminilog.plugins import load_class
from kminilog.producer_settings import PRODUCER_SETTINGS

STICKY_ROWS = 128
PLACE_TEXT = re.compile(r"file (\d+), position (\d+), row (\d+): ")
"""How an error names a record's place. A caller who knows the files can put their names in."""

_CACHED_KEYS = 1 << 16

Integers = NDArray[np.int64]
Partitions = NDArray[np.int32]


class Places(NamedTuple):
    """The places of records in a source: arrays of file number, position and row in the file."""

    rank: Integers
    position: Integers
    row: Integers


Choose = Callable[[Any, Places], Partitions]
Keyless = Callable[[Places], Partitions]
Ask = Callable[[bytes], int]


def checked_partitioner(partitioner: str) -> str:
    """Return the name in the suite, or the path of a class that can be loaded.

    Imports the class, but makes no instance: the tasks do that. Raises SettingError for an unknown
    name, and PluginError for a class that cannot be loaded.
    """
    name = checked_name(partitioner)
    if is_path(name):
        has_old_interface(load_class(name, setting=SETTING), name)
    return name


def chooser(partitioner: str, partitions: int, *, seed: int = 0, topic: str = "topic") -> Choose:
    """Return a function of an Arrow column of keys and their places to an array of partitions.

    `seed` is that of the draws, `topic` the name that a class is given. Raises SettingError for an
    unknown name, PluginError for a class that cannot be loaded or made. The function raises
    PluginError for an error or a wrong answer of the class, with the record's place as in
    PLACE_TEXT. It costs O(bytes of keys), in numpy unless the table of this module says slow.

    >>> import pyarrow as pa
    >>> places = Places(np.zeros(4), np.zeros(4), np.arange(4))
    >>> chooser("default-2.4", 3, seed=3)(pa.array([b"21", None, None, b"21"]), places).tolist()
    [0, 1, 1, 0]
    """
    partitioner = checked_name(partitioner)
    if is_path(partitioner):
        return _asking_a_class(partitioner, partitions, topic, seed)
    keyless = _keyless(partitioner, partitions, seed)
    if partitioner not in KEYED_RULES:
        return lambda keys, places: keyless(places)
    if partitioner == "default-0.8":
        rule = KEYED_RULES[partitioner]
        ask = lru_cache(_CACHED_KEYS)(lambda key: rule(key, partitions))
        return lambda keys, places: _asked(map(_or_none(ask), keys.to_pylist()), places, keyless)
    return lambda keys, places: _by_murmur2(keys, places, partitions, keyless)


def _by_murmur2(keys: Any, places: Places, partitions: int, keyless: Keyless) -> Partitions:
    chosen = partition_column(keys, partitions)
    if not chosen.null_count:
        return _as_partitions(chosen.to_numpy())
    found = pc.fill_null(chosen, -1).to_numpy()
    return np.where(found < 0, keyless(places), found)


# ---- without a look at keys


def _keyless(partitioner: str, partitions: int, seed: int) -> Keyless:
    """Return where records without a key go, by the table of this module."""
    if partitioner in ("default-0.9", "round-robin"):
        return lambda places: _as_partitions((places.rank + places.row) % partitions)

    def draw(places: Places) -> Partitions:
        if partitioner == "default-0.8":  # one draw for all
            places = Places(*map(np.zeros_like, places))
        elif partitioner != "random":  # one for each stretch of rows
            stretch = places.row // STICKY_ROWS
            places = Places(places.rank, np.zeros_like(places.position), stretch)
        drawn = np.full(len(places.row), seed & (2**64 - 1), np.uint64)
        for part in places:
            drawn = mixed(drawn + np.asarray(part).astype(np.uint64))
        return _as_partitions(drawn % np.uint64(partitions))

    return draw


def _as_partitions(numbers: Any) -> Partitions:
    found: Partitions = numbers.astype(np.int32, copy=False)
    return found


# ---- one by one


def _or_none(ask: Ask) -> Callable[[bytes | None], int | None]:
    return lambda key: None if key is None else ask(key)


def _asked(answers: Iterable[int | None], places: Places, keyless: Keyless) -> Partitions:
    """Return the answers as an array; `keyless` places the records without an answer."""
    count = len(places.row)
    found = np.fromiter((-1 if a is None else a for a in answers), np.int32, count)
    return np.where(found < 0, keyless(places), found)


def _asking_a_class(path: str, partitions: int, topic: str, seed: int) -> Choose:
    ask = _asker(path, partitions, topic)
    keyless = _keyless("default-0.8", partitions, seed)

    def answers(keys: Any, places: Places) -> Iterable[int | None]:
        for slot, key in enumerate(keys.to_pylist()):
            try:
                yield ask(key)
            except KMiniLogError as error:
                place = ", ".join(
                    f"{name} {number[slot]}"
                    for name, number in zip(("file", "position", "row"), places, strict=True)
                )
                told = error.reason if isinstance(error, PluginError) else error
                raise PluginError(SETTING, path=path, reason=f"{place}: {told}") from error

    return lambda keys, places: _asked(answers(keys, places), places, keyless)


def _asker(path: str, partitions: int, topic: str) -> Callable[[bytes | None], int | None]:
    config = complete_config({SETTING: path}, PRODUCER_SETTINGS)
    cluster = ClusterMetadata.of_one_topic(topic, range(partitions))
    found = load_class(path, setting=SETTING)
    if has_old_interface(found, path):
        old = CustomKeyPartitioner(found, path, config)
        return _or_none(
            lambda key: check_partition(
                topic, old.partition(as_key_object(key), partitions), cluster
            )
        )
    new = CustomPartitioner(found, path)
    new.configure(config)

    def ask(key: bytes | None) -> int:
        key_object = None if key is None else as_key_object(key)
        chosen = new.partition(topic, key_object, key, None, None, cluster)
        return check_partition(topic, chosen, cluster)

    return ask
