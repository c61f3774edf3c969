import pytest

from kminilog.verification.index_checks import IndexCheck
from tests.support.damage import encode_entries

INTERVAL = 100
# Ten messages of 60 bytes from offset 0 on: every second one is due an entry, at 120, 240, ...
ENTRIES = [(2, 120), (4, 240), (6, 360), (8, 480)]
LOG_BYTES = 600


def faults(
    entries: list[tuple[int, int]],
    *,
    torn: bytes = b"",
    log_bytes: int = LOG_BYTES,
    may_lag: bool = False,
) -> list[tuple[str, int | None, int]]:
    check = IndexCheck(encode_entries(entries) + torn, 0, INTERVAL)
    for offset in range(10):
        check.tell_message(offset, offset, 60 * offset)
    return [
        (fault.kind.value, fault.offset, fault.position)
        for fault in check.faults(LOG_BYTES, log_bytes, may_lag=may_lag)
    ]


def test_index_by_the_rule_has_no_fault():
    assert faults(ENTRIES) == []


def test_true_entries_that_are_not_due_are_no_fault():
    assert faults([(n, 60 * n) for n in range(1, 10)]) == []


def test_lost_entry_does_not_make_others_look_lost():
    assert faults(ENTRIES[:1] + ENTRIES[2:]) == [("index-sparse", 4, 240)]


def test_lost_entries_are_one_finding_that_counts_them():
    check = IndexCheck(b"", 0, INTERVAL)
    for offset in range(10):
        check.tell_message(offset, offset, 60 * offset)
    (fault,) = check.faults(LOG_BYTES, LOG_BYTES)
    assert (fault.offset, fault.position) == (2, 120)
    assert fault.detail.startswith("4 index entries are missing")


@pytest.mark.parametrize(
    ("entries", "detail"),
    [
        (ENTRIES[:1] + ENTRIES[2:], "1 index entry is missing, for this message"),
        ([*ENTRIES, (0, 0)], "entry 4, (0, 0), does not ascend"),
        ([*ENTRIES, (0, 0), (0, 0)], "entry 4, (0, 0), does not ascend, nor does 1 more"),
        ([*ENTRIES, (0, 0), (0, 0), (0, 0)], "entry 4, (0, 0), does not ascend, nor do 2 more"),
    ],
)
def test_words_agree_with_the_number_of_entries(entries, detail):
    check = IndexCheck(encode_entries(entries), 0, INTERVAL)
    for offset in range(10):
        check.tell_message(offset, offset, 60 * offset)
    (fault,) = check.faults(LOG_BYTES, LOG_BYTES)
    assert fault.detail == detail


def test_bad_slot_stands_for_one_lost_entry_and_not_for_two():
    assert faults([(2, 120), (0, 0), (6, 360), (8, 480)]) == [("index-order", 0, 8)]
    assert faults([(2, 120), (0, 0), (8, 480)]) == [
        ("index-order", 0, 8),
        ("index-sparse", 4, 240),
    ]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_zeros_between_entries_keep_the_places_of_those_after_them(count):
    zeros = [(0, 0)] * count
    assert faults([(2, 120), *zeros, (4, 241), (6, 360), (8, 480)]) == [
        ("index-position", 4, 8 * (1 + count)),
        ("index-order", 0, 8),
    ]
    assert faults([*zeros, (2, 120), (0, 0), *ENTRIES[1:]], torn=b"\0\0") == [("index-order", 0, 0)]


def test_index_that_lags_while_a_writer_is_at_work_is_no_fault():
    assert faults(ENTRIES[:2]) == [("index-sparse", 6, 360)]
    assert faults(ENTRIES[:2], may_lag=True) == []
    assert faults(ENTRIES[2:], may_lag=True) == [("index-sparse", 2, 120)]


def test_entry_for_a_message_that_was_added_since_is_no_fault():
    newer = [*ENTRIES, (10, 600)]
    assert faults(newer) == [("index-past-end", 10, 32)]
    assert faults(newer, log_bytes=660) == []
    assert faults([*newer, (11, 660)], log_bytes=660) == [("index-past-end", 11, 40)]


@pytest.mark.parametrize("torn_bytes", [1, 7])
def test_torn_entry_is_one_fault_whatever_is_lost_with_it(torn_bytes):
    assert faults(ENTRIES[:1], torn=bytes(torn_bytes)) == [("index-order", None, 8)]


def test_entries_behind_a_fault_in_the_log_may_all_be_off_by_as_much():
    def shifted(entries: list[tuple[int, int]]) -> list[str]:
        check = IndexCheck(encode_entries(entries), 0, INTERVAL)
        for offset in range(10):
            if offset == 3:  # its message is gone, and those after it came forward
                check.tell_fault(3, 4)
            else:
                check.tell_message(offset, offset, 60 * (offset - (offset > 3)))
        return [fault.kind.value for fault in check.faults(LOG_BYTES - 60, LOG_BYTES - 60)]

    assert shifted(ENTRIES) == []
    assert shifted([(2, 120), (4, 180), (6, 300), (8, 420)]) == []
    assert shifted([(2, 120), (4, 240), (6, 361), (8, 480)]) == ["index-position"]


def test_entries_for_the_offsets_of_a_fault_are_not_judged():
    check = IndexCheck(encode_entries([(2, 999), (3, 120)]), 0, INTERVAL)
    check.tell_message(0, 0, 0)
    check.tell_fault(1, 3)
    check.tell_message(3, 3, 120)
    assert list(check.faults(180, 180)) == []
