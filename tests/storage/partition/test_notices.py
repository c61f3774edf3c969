"""What a notice says, and what becomes of one that nobody takes."""

import linecache
import warnings

import pytest

from kminilog.format.names import TopicPartition
from kminilog.storage.partition.notices import Gap, KMiniLogWarning, warn

ORDERS = TopicPartition("orders", 0)


@pytest.mark.parametrize(
    ("next_offset", "missing"),
    [(8, "offset 7 is"), (9, "offsets 7 to 8 are"), (100, "offsets 7 to 99 are")],
)
def test_gap_of_one_offset_or_more_says_which_are_missing_and_where(next_offset, missing):
    gap = Gap(ORDERS, 7, next_offset, "orders-0/5.log", 120)
    place = "(orders-0/5.log: byte 120)"
    assert str(gap) == f"orders-0: a gap: {missing} not in the log {place}"


def test_notice_that_nobody_takes_is_a_warning_with_its_text_once():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(2):
            pass_on("a notice")
    assert [(one.category, str(one.message)) for one in told] == [(KMiniLogWarning, "a notice")]


def test_notice_that_nobody_takes_names_the_line_that_called_the_function_which_warns():
    with pytest.warns(KMiniLogWarning) as told:
        pass_on(Gap(ORDERS, 7, 8, "5.log", 0))
    (one,) = told
    assert linecache.getline(one.filename, one.lineno).strip().startswith("pass_on(")


def pass_on(notice: object) -> None:
    """Stands for a function of the library, of which the caller wants to know."""
    warn(notice)
