"""The names of the suite, and how to get a partitioner by its name or by a path to a class.

    default-0.8     P1, P2   default_0_8       default-2.4      P7       default_2_4
    default-0.9     P3       default_0_9       built-in                  built_in
    round-robin     P4       round_robin       random           P10      random_choice
    uniform-sticky  P5       sticky            package.module.Class
    sticky-cache    P6       sticky                             P8, P9   custom

A path has a dot or a colon between Python names; anything else is taken for a name. Kafka's names
of its classes, such as org.apache.kafka.clients.producer.RoundRobinPartitioner, stand for ours.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from kminilog.clock import Chance, Clock
from kminilog.config import complete_config, short_name
from kminilog.errors import SettingError
from kminilog.partitioners.built_in import BuiltIn
from kminilog.partitioners.custom import (
    SETTING,
    CustomKeyPartitioner,
    CustomPartitioner,
    has_old_interface,
)
from kminilog.partitioners.default_0_8 import Default08
from kminilog.partitioners.default_0_9 import Default09
from kminilog.partitioners.default_2_4 import Default24
from kminilog.partitioners.interface import Partitioner
from kminilog.partitioners.random_choice import RandomChoice
from kminilog.partitioners.round_robin import RoundRobin
from kminilog.partitioners.sticky import StickyCache, UniformSticky
from kminilog.plugins import load_class
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.storage.partition.notices import warn

PARTITIONERS: dict[str, Callable[[Chance, Clock], Partitioner]] = {
    "default-0.8": Default08,
    "default-0.9": lambda chance, clock: Default09(chance),
    "default-2.4": lambda chance, clock: Default24(chance),
    "built-in": lambda chance, clock: BuiltIn(chance),
    "round-robin": lambda chance, clock: RoundRobin(),
    "uniform-sticky": lambda chance, clock: UniformSticky(chance),
    "sticky-cache": lambda chance, clock: StickyCache(chance),
    "random": lambda chance, clock: RandomChoice(chance),
}


def make_partitioner(
    name_or_path: str,
    config: Mapping[str, Any],
    *,
    chance: Chance,
    clock: Clock,
    compared: Collection[str] = (),
) -> Partitioner:
    """Return a new partitioner, configured; settings that are not in `config` have their defaults.

    A setting for another partitioner of the suite is a KMiniLogWarning: it has no effect. There is
    no warning if one of `compared`, the partitioners that get the same settings, reads it. Raises
    SettingError for an unknown name or a wrong setting, PluginError for a class that cannot be
    loaded or made.

    >>> from random import Random
    >>> from kminilog.clock import ManualClock
    >>> from kminilog.cluster.metadata import ClusterMetadata
    >>> cluster = ClusterMetadata.of_one_topic("orders", [0, 1, 2])
    >>> chosen = make_partitioner("default-2.4", {}, chance=Random(1), clock=ManualClock())
    >>> chosen.partition("orders", "21", b"21", None, None, cluster)
    0
    """
    complete = complete_config({**config, SETTING: name_or_path}, PRODUCER_SETTINGS)
    name = checked_name(name_or_path)
    readers = {name, *compared}
    is_suite = readers <= PARTITIONERS.keys()  # a user's class may read any setting
    for setting in PRODUCER_SETTINGS.values():
        is_ignored = is_suite and setting.reader not in {"", *readers}
        if is_ignored and complete[setting.name] != setting.default:
            told = f"{name} ignores it; it is for {setting.reader}"
            warn(f"setting {setting.name} has no effect: {told}")
    partitioner = _make(name, chance, clock)
    partitioner.configure(complete)
    return partitioner


def is_path(name_or_path: str) -> bool:
    """Tell if this is a path to a user's class, and not a name of the suite.

    >>> is_path("my_module.Mine"), is_path("my_module:Mine"), is_path("default-2.4")
    (True, True, False)
    """
    parts = re.split("[.:]", name_or_path)
    return len(parts) > 1 and all(part.isidentifier() for part in parts)


def checked_name(name_or_path: str) -> str:
    """Return the name in the suite, or the path as it is.

    Raises SettingError if it is none of these, nor the name of a class of Kafka's.
    """
    name = short_name(PRODUCER_SETTINGS[SETTING], name_or_path)
    if name not in PARTITIONERS and not is_path(name):
        known = ", ".join(PARTITIONERS)
        reason = f"no partitioner {name!r}; there is: {known}, or package.module.Class"
        raise SettingError(SETTING, reason=reason)
    return name


def _make(name_or_path: str, chance: Chance, clock: Clock) -> Partitioner:
    if name_or_path in PARTITIONERS:
        return PARTITIONERS[name_or_path](chance, clock)
    found = load_class(name_or_path, setting=SETTING)
    if has_old_interface(found, name_or_path):
        return Default08(chance, clock, partial(CustomKeyPartitioner, found, name_or_path))
    return CustomPartitioner(found, name_or_path)
