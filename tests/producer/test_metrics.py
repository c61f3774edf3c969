import pytest

from kminilog.clock import ManualClock
from kminilog.producer.metrics import NS_PER_MS, WINDOW_MS, Metrics, Sensor


@pytest.mark.parametrize(
    ("spans", "asked_ms", "ratio"),
    [
        ([], 5_000, 0.0),
        ([(300, 5_000)], 5_000, 0.3),
        ([(0, 5_000)], 5_000, 0.0),
        ([(300, 5_000), (200, 5_500)], 5_500, 0.5),
        ([(300, 5_000)], 5_900, 0.1),
        ([(300, 5_000)], 6_000, 0.0),
        ([(300, 5_000), (200, 5_700)], 6_000, 0.2),
        ([(4_000, 5_000)], 5_000, 1.0),
        ([(1_000, 5_000), (1_000, 5_000)], 5_000, 2.0),
    ],
    ids=[
        "nothing",
        "one",
        "no time at all",
        "two",
        "partly too old",
        "all too old",
        "first too old",
        "longer than the window",
        "two at a time",
    ],
)
def test_ratio_is_the_share_of_the_last_second(spans, asked_ms, ratio):
    sensor = Sensor(window_ms=1_000)
    for duration_ms, ended_ms in spans:
        sensor.record(duration_ms * NS_PER_MS, ended_ms * NS_PER_MS)
    assert sensor.ratio(asked_ms * NS_PER_MS) == pytest.approx(ratio)
    assert sensor.total_ns == sum(duration_ms for duration_ms, _ in spans) * NS_PER_MS


def test_sensor_keeps_nanoseconds():
    sensor = Sensor(window_ms=1)
    sensor.record(1, now_ns=10**18)
    sensor.record(2, now_ns=10**18 + 5)
    assert sensor.total_ns == 3
    assert sensor.ratio(10**18 + 5) == 3e-6


def test_sensor_of_a_name_is_made_once():
    metrics = Metrics(ManualClock())
    assert metrics.sensor("wait-time") is metrics.sensor("wait-time")
    assert metrics.sensor("wait-time") is not metrics.sensor("other-time")


def test_value_moves_with_the_clock():
    clock = ManualClock(10**9)
    metrics = Metrics(clock)
    metrics.add_ratio("wait-ratio", "one", metrics.sensor("wait-time"))
    metrics.sensor("wait-time").record(WINDOW_MS // 2 * NS_PER_MS, clock.now_ns())
    assert metrics.value("wait-ratio", "one") == 0.5
    clock.sleep_ms(WINDOW_MS)
    assert metrics.values() == {("wait-ratio", "one"): 0.0}


def test_metric_of_the_same_name_needs_another_group():
    metrics = Metrics(ManualClock())
    metrics.add_ratio("wait-ratio", "one", metrics.sensor("wait-time"))
    metrics.add_ratio("wait-ratio", "two", metrics.sensor("wait-time"))
    with pytest.raises(ValueError, match="wait-ratio in group two already"):
        metrics.add_ratio("wait-ratio", "two", metrics.sensor("wait-time"))
    with pytest.raises(ValueError, match="no metric wait-ratio in group three"):
        metrics.value("wait-ratio", "three")


def test_window_without_length_is_refused():
    with pytest.raises(ValueError, match="0 ms"):
        Metrics(ManualClock(), window_ms=0)
