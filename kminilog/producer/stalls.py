"""Which leaders take no batch although one is ready for them, and for how long.

Source: Kafka: RecordAccumulator.NodeLatencyStats (KIP-794).
"""

from collections.abc import Iterable


class Stalls:
    """The times at which each node last had a batch ready, and last took one.

    >>> stalls = Stalls()
    >>> stalls.note(0, ready=[1, 2], served=[1, 2])
    >>> stalls.note(500, ready=[1, 2], served=[2])
    >>> stalls.nodes(400), stalls.nodes(500)
    ({1}, set())
    """

    def __init__(self) -> None:
        self._ready_ms: dict[int, int] = {}
        self._served_ms: dict[int, int] = {}

    def note(self, now_ms: int, *, ready: Iterable[int], served: Iterable[int]) -> None:
        """Record for which nodes a batch is ready now, and which of them took one."""
        for node in ready:
            self._ready_ms[node] = now_ms
            self._served_ms.setdefault(node, now_ms)
        for node in served:
            self._served_ms[node] = now_ms

    def nodes(self, timeout_ms: int) -> set[int]:
        """Return the nodes that took nothing for longer than this while a batch was ready."""
        return {
            node
            for node, ready_ms in self._ready_ms.items()
            if ready_ms - self._served_ms[node] > timeout_ms
        }
