"""What the checks of lab 6 say of answers that are the library's but for one thing."""

from typing import Any

import pytest

from kminilog.course.comparing import Comparer, DifferenceError
from kminilog.course.material import checks_of, lab_of
from kminilog.partitioners import examples
from kminilog.partitioners.default_0_8 import Default08, HashCodePartitioner
from kminilog.partitioners.default_2_4 import Default24

CHECKS = checks_of(lab_of(6))


def code_of(number: int, answer: Any) -> str | None:
    """Return the reason for which a wrong answer fails; fail if it passes."""
    with pytest.raises(DifferenceError) as found:
        CHECKS[f"exercise_{number}"](Comparer(), answer)
    return found.value.code


def answers_that_tidy_keys(tidy: Any) -> dict[int, Any]:
    """Return right answers by exercise, but for what they make of a key before they place it."""

    def partition(self: Any, topic: str, key: Any, data: Any, *words: Any, **named: Any) -> int:
        return Default24.partition(self, topic, key, data and tidy(data), *words, **named)

    class OfText(HashCodePartitioner):
        def partition(self, key: Any, number_of_partitions: int) -> int:
            return super().partition(tidy(key), number_of_partitions)

    def before_switch(self: Any, topic: str, key: Any, cluster: Any, now_ms: int) -> int:
        return Default08.before_switch(self, topic, key and tidy(key), cluster, now_ms)

    class ByCustomer08(examples.ByCustomer08):
        def partition(self, key: Any, number_of_partitions: int) -> int:
            return super().partition(tidy(key.split(":")[0]), number_of_partitions)

    class ByCustomer(examples.ByCustomer):
        def partition(self, topic: str, key: Any, data: Any, *words: Any) -> int:
            customer = data and tidy(data.split(b":")[0])
            return super().partition(topic, key, customer, *words)

    return {3: partition, 13: OfText, 14: before_switch, 15: ByCustomer08, 16: ByCustomer}


@pytest.mark.parametrize("name", ["lstrip", "rstrip", "lower"])
def test_blanks_and_capitals_of_a_key_count(name):
    answers = answers_that_tidy_keys(lambda key: getattr(key, name)())
    codes = {number: code_of(number, answer) for number, answer in answers.items()}
    assert codes == dict.fromkeys(answers)


@pytest.mark.parametrize(
    ("kept", "code"), [(0xFFFFFFFF, "abs-of-unsigned"), (0x7FFFFFFF, "ignores-abs-rule")]
)
def test_hash_code_of_which_abs_keeps_some_bits_is_told_what_it_is(kept, code):
    class Unsigned(HashCodePartitioner):
        def __init__(self, properties: Any) -> None:
            super().__init__(properties)
            if properties["default-0.8.abs"] == "abs":
                self._non_negative = lambda number: number & kept

    assert code_of(13, Unsigned) == code


def _least_or_first(available: Any, every: Any) -> int:
    return min(each.partition for each in available) if available else every[0].partition


@pytest.mark.parametrize(
    ("choose", "code"),
    [
        (lambda available, every: 0, "keyless-to-zero"),
        (_least_or_first, "keyless-to-least"),
        (lambda available, every: every[0].partition, "keyless-ignores-availability"),
        (lambda available, every: every[-1].partition, None),
    ],
)
def test_own_rule_for_records_without_a_key_is_told_what_it_does(choose, code):
    class ByCustomer(examples.ByCustomer):
        def partition(self, topic: str, key: Any, data: Any, value: Any, *words: Any) -> int:
            if data is not None:
                return super().partition(topic, key, data, value, *words)
            cluster = words[-1]
            available = cluster.available_partitions_for_topic(topic)
            return choose(available, cluster.partitions_for_topic(topic))

    assert code_of(16, ByCustomer) == code
