"""A user's own partitioner: which of two interfaces it has, and checks of its answers.

    old (0.8)   made with the settings; partition(key, number_of_partitions). It works in the frame
                of `default_0_8`: it never sees a record without key, and the failover switch holds
    new (0.9)   made without arguments; partition with six arguments, as in `interface`; all other
                methods may be missing

The signature of `partition` decides which interface it is; one that fits both is new. An exception
of the user's code becomes a PluginError that names the class, unless it is an error of kminilog. An
answer that is not a whole number becomes a PluginError, too. `interface.ask_partitioner` finds an
answer out of range, as for all partitioners.

Source: S0 2 and 3, S1 6, S2; Kafka: kafka.producer.Partitioner of 0.8, Partitioner from 0.9 on.
"""

import inspect
from collections.abc import Collection, Mapping
from typing import Any

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import PluginError
from kminilog.partitioners.interface import Partitioner
from kminilog.plugins import guarded

SETTING = "partitioner.class"
_OLD_ARGUMENTS = 2
_NEW_ARGUMENTS = 6


def has_old_interface(found: type[Any], path: str) -> bool:
    """Tell if a class has the old interface; PluginError if it has neither.

    >>> class Mine:
    ...     def partition(self, key, number_of_partitions):
    ...         return 0
    >>> has_old_interface(Mine, "my.Mine")
    True
    """
    method = getattr(found, "partition", None)
    if not callable(method):
        raise PluginError(SETTING, path=path, reason="it has no method partition")
    is_bound = isinstance(inspect.getattr_static(found, "partition"), (classmethod, staticmethod))
    for count in (_NEW_ARGUMENTS, _OLD_ARGUMENTS):
        try:
            inspect.signature(method).bind(*range(count if is_bound else count + 1))
        except (TypeError, ValueError):
            continue
        return count == _OLD_ARGUMENTS
    reason = (
        "partition takes neither (key, number_of_partitions) "
        "nor (topic, key, key_bytes, value, value_bytes, cluster)"
    )
    raise PluginError(SETTING, path=path, reason=reason)


class CustomKeyPartitioner:
    """An object with the old interface; its errors become PluginErrors."""

    def __init__(self, found: type[Any], path: str, properties: Mapping[str, Any]) -> None:
        self._path = path
        self._target = guarded(SETTING, path, found, properties)

    def partition(self, key: Any, number_of_partitions: int) -> int:
        """Return the partition of a key; PluginError."""
        answer = guarded(SETTING, self._path, self._target.partition, key, number_of_partitions)
        return _whole_number(self._path, answer)


class CustomPartitioner(Partitioner):
    """An object with the new interface; its errors become PluginErrors.

    It is asked again for each new batch, as Kafka from 2.4 on does with every class, unless its
    attribute `is_asked_again` is false.
    """

    def __init__(self, found: type[Any], path: str) -> None:
        self._path = path
        self._target = guarded(SETTING, path, found)
        self.is_asked_again = bool(getattr(self._target, "is_asked_again", True))

    def configure(self, config: Mapping[str, Any]) -> None:
        """Hand the settings on."""
        self._tell("configure", config)

    def on_timestamp(self, timestamp_ms: int) -> None:
        self._tell("on_timestamp", timestamp_ms)

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return the partition of a record; PluginError."""
        asked = (topic, key, key_bytes, value, value_bytes, cluster)
        answer = guarded(SETTING, self._path, self._target.partition, *asked)
        return _whole_number(self._path, answer)

    def on_new_batch(self, topic: str, cluster: ClusterMetadata, previous_partition: int) -> None:
        self._tell("on_new_batch", topic, cluster, previous_partition)

    def on_appended(
        self,
        topic: str,
        partition: int,
        size_bytes: int,
        *,
        has_key: bool,
        is_batch_full: bool,
        cluster: ClusterMetadata,
    ) -> None:
        named = {"has_key": has_key, "is_batch_full": is_batch_full, "cluster": cluster}
        self._tell("on_appended", topic, partition, size_bytes, **named)

    def on_queues(
        self,
        topic: str,
        queue_sizes: Mapping[int, int],
        cluster: ClusterMetadata,
        *,
        stalled: Collection[int] = (),
    ) -> None:
        self._tell("on_queues", topic, queue_sizes, cluster, stalled=stalled)

    def on_metadata_refresh(self) -> None:
        self._tell("on_metadata_refresh")

    def close(self) -> None:
        """Hand it on."""
        self._tell("close")

    def _tell(self, hook: str, *arguments: Any, **named: Any) -> None:
        method = getattr(self._target, hook, None)
        if method is not None:
            guarded(SETTING, self._path, method, *arguments, **named)


def _whole_number(path: str, answer: object) -> int:
    if isinstance(answer, bool) or not isinstance(answer, int):
        reason = f"partition answered {answer!r}, which is no whole number"
        raise PluginError(SETTING, path=path, reason=reason)
    return answer
