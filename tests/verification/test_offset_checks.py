import pytest

from kminilog.format.message import Message
from kminilog.verification.offset_checks import judge_offset

GZIP = 1


def message(offset: int, attributes: int = 0) -> Message:
    return Message(offset, 0, 0, 0, attributes, None, b"")


def judge(
    offset: int,
    expected: int,
    after: int | None,
    *,
    missing: range = range(0),
    damaged: bool = False,
    attributes: int = 0,
    attributes_after: int = 0,
) -> tuple[str, int] | None:
    """The class of the fault, and the offset to expect next."""
    fault = judge_offset(
        message(offset, attributes),
        expected,
        None if after is None else message(after, attributes_after),
        missing=missing,
        is_damage_between=damaged,
    )
    return (fault.kind.value, fault.next_offset) if fault else None


@pytest.mark.parametrize("after", [None, 0, 10, 11, 99])
def test_expected_offset_is_no_fault_whatever_follows(after):
    assert judge(10, 10, after) is None


@pytest.mark.parametrize(
    ("offset", "expected", "after", "found"),
    [
        (99, 10, 11, ("offset-disorder", 11)),
        (3, 10, 11, ("offset-disorder", 11)),
        (-5, 10, None, ("offset-disorder", 11)),
        (11, 10, 10, ("offset-disorder", 12)),
        (11, 10, 12, ("offset-gap", 11)),
        (14, 10, 15, ("offset-gap", 14)),
        (14, 10, 20, ("offset-gap", 14)),
        (14, 10, None, ("offset-gap", 14)),
        (9, 10, 10, ("offset-overlap", 10)),
        (9, 10, 9, ("offset-overlap", 10)),
        (5, 10, 6, ("offset-overlap", 10)),
        (5, 10, None, ("offset-overlap", 10)),
    ],
)
def test_wrong_offset_is_judged_by_the_message_behind_it(offset, expected, after, found):
    assert judge(offset, expected, after) == found


@pytest.mark.parametrize(
    ("offset", "after", "found"),
    [(5, 6, ("offset-disorder", 6)), (5, 10, ("offset-disorder", 10))],
)
def test_offset_that_was_missed_before_is_no_copy(offset, after, found):
    assert judge(offset, 10, after, missing=range(4, 9)) == found


@pytest.mark.parametrize(
    ("offset", "after", "found"),
    [
        (99, 12, ("offset-disorder", 11)),
        (99, 11, ("offset-disorder", 11)),
        (11, 13, ("offset-gap", 11)),
        (11, 12, ("offset-gap", 11)),
    ],
)
def test_damaged_message_in_between_takes_up_one_offset(offset, after, found):
    assert judge(offset, 10, after, damaged=True) == found


@pytest.mark.parametrize(
    ("offset", "after", "found"),
    [
        (14, 15, None),
        (14, None, None),
        (14, 19, None),
        (9_999, 15, ("offset-disorder", 15)),
        (2**40, None, ("offset-disorder", 11)),
        (3, 15, ("offset-disorder", 15)),
    ],
)
def test_compressed_message_may_take_up_any_number_of_offsets(offset, after, found):
    assert judge(offset, 10, after, attributes=GZIP) == found


def test_compressed_copy_is_an_overlap():
    assert judge(14, 10, 14, attributes=GZIP, attributes_after=GZIP) is None
    assert judge(14, 15, 19, attributes=GZIP, attributes_after=GZIP) == ("offset-overlap", 15)
