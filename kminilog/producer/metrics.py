"""What a producer measures about itself: durations, and their share of the time.

A *sensor* records how long something took, in nanoseconds: a call may wait for far less than a
millisecond. A *metric* is a number that is computed from a sensor when it is read. There is one
kind of metric: the share of a sensor's durations in the last `window_ms`. There are no counts,
averages or reporters. Time comes from the clock that is passed in.

Source: S2 1 (wait times in nanoseconds); Kafka: Metrics, Sensor, Rate. Differs: Kafka keeps sums of
two periods of 30 s, so its window jumps; here it slides.
"""

from collections import deque
from threading import Lock

from kminilog.clock import Clock

WINDOW_MS = 30_000
NS_PER_MS = 1_000_000


class Sensor:
    """Records durations, and keeps those of the last `window_ms`; any thread may call it."""

    def __init__(self, window_ms: int) -> None:
        self.total_ns = 0
        """The sum of all durations so far, however old."""
        self._window_ns = window_ms * NS_PER_MS
        self._lock = Lock()
        self._spans: deque[tuple[int, int]] = deque()  # (began, ended), by when they ended

    def record(self, duration_ns: int, now_ns: int) -> None:
        """Record something that lasted `duration_ns` and has ended at `now_ns`."""
        with self._lock:
            self._forget(now_ns)
            if duration_ns > 0:
                self.total_ns += duration_ns
                self._spans.append((now_ns - duration_ns, now_ns))

    def ratio(self, now_ns: int) -> float:
        """Return the share of the durations in the last `window_ms`; O(durations in it).

        Overlapping durations count each, so the ratio is above 1 if several threads wait for most
        of the time. A duration counts once it has ended, and only with its part in the window.

        >>> sensor = Sensor(window_ms=1)
        >>> sensor.record(250_000, now_ns=10_000_000)
        >>> [sensor.ratio(now_ns) for now_ns in (10_000_000, 10_900_000, 11_000_000)]
        [0.25, 0.1, 0.0]
        """
        start_ns = now_ns - self._window_ns
        with self._lock:
            self._forget(now_ns)
            covered_ns = sum(ended - max(began, start_ns) for began, ended in self._spans)
        return covered_ns / self._window_ns

    def _forget(self, now_ns: int) -> None:
        while self._spans and self._spans[0][1] <= now_ns - self._window_ns:
            self._spans.popleft()


class Metrics:
    """The sensors of one producer by name, and its metrics by name and group.

    >>> from kminilog.clock import ManualClock
    >>> clock = ManualClock()
    >>> metrics = Metrics(clock, window_ms=1_000)
    >>> metrics.add_ratio("wait-ratio", "producer-metrics", metrics.sensor("wait-time"))
    >>> clock.sleep_ms(500)
    >>> metrics.sensor("wait-time").record(100_000_000, clock.now_ns())
    >>> metrics.value("wait-ratio", "producer-metrics")
    0.1
    """

    def __init__(self, clock: Clock, *, window_ms: int = WINDOW_MS) -> None:
        if window_ms < 1:
            raise ValueError(f"a window of {window_ms} ms is too short")
        self.window_ms = window_ms
        self._clock = clock
        self._sensors: dict[str, Sensor] = {}
        self._ratios: dict[tuple[str, str], Sensor] = {}

    def sensor(self, name: str) -> Sensor:
        """Return the sensor of that name; the first call makes it."""
        return self._sensors.setdefault(name, Sensor(self.window_ms))

    def add_ratio(self, name: str, group: str, sensor: Sensor) -> None:
        """Make a metric: the share of time that the durations of a sensor take.

        Raises ValueError if there is a metric of that name in that group.
        """
        if (name, group) in self._ratios:
            raise ValueError(f"there is a metric {name} in group {group} already")
        self._ratios[name, group] = sensor

    def value(self, name: str, group: str) -> float:
        """Return a metric's value now. Raises ValueError if that group has no metric of that name.

        >>> from kminilog.clock import ManualClock
        >>> Metrics(ManualClock()).value("wait-ratio", "producer-metrics")
        Traceback (most recent call last):
        ...
        ValueError: no metric wait-ratio in group producer-metrics
        """
        sensor = self._ratios.get((name, group))
        if sensor is None:
            raise ValueError(f"no metric {name} in group {group}")
        return sensor.ratio(self._clock.now_ns())

    def values(self) -> dict[tuple[str, str], float]:
        """Return the values of all metrics now, by name and group."""
        now_ns = self._clock.now_ns()
        return {key: sensor.ratio(now_ns) for key, sensor in list(self._ratios.items())}
