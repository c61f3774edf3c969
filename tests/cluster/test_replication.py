import pytest

from kminilog.cluster.replication import FollowerProgress

LIMIT_MS = 10_000


def progress(*, epoch_start_offset: int = 0) -> FollowerProgress:
    return FollowerProgress([1, 2], epoch_start_offset=epoch_start_offset, now_ms=0)


@pytest.mark.parametrize(
    ("asked", "in_sync", "leader_end", "current", "expected"),
    [
        ({}, {0, 1, 2}, 9, 4, 4),  # nobody has asked: nothing is known
        ({1: 7}, {0, 1, 2}, 9, 4, 4),
        ({1: 7, 2: 6}, {0, 1, 2}, 9, 4, 6),
        ({1: 7, 2: 6}, {0, 1}, 9, 4, 7),  # 2 is not in sync and does not count
        ({1: 7, 2: 6}, {0}, 9, 4, 9),  # the leader alone
        ({1: 3, 2: 9}, {0, 1, 2}, 9, 4, 4),  # never back
    ],
)
def test_high_watermark_is_the_smallest_offset_of_the_in_sync_replicas(
    asked, in_sync, leader_end, current, expected
):
    known = progress()
    for node, offset in asked.items():
        known.asked(node, offset, leader_end=leader_end, now_ms=1)
    found = known.high_watermark(in_sync, leader_end=leader_end, current=current)
    assert found == expected


@pytest.mark.parametrize(
    ("asked", "high_watermark", "epoch_start_offset", "expected"),
    [
        (None, 0, 0, False),
        (4, 5, 0, False),
        (5, 5, 0, True),
        (5, 5, 6, False),  # the high watermark is that of a new leader, and may be old
        (6, 5, 6, True),
    ],
)
def test_may_join_needs_the_high_watermark_and_the_beginning_of_the_epoch(
    asked, high_watermark, epoch_start_offset, expected
):
    known = progress(epoch_start_offset=epoch_start_offset)
    if asked is not None:
        known.asked(1, asked, leader_end=9, now_ms=1)
    assert known.may_join(1, high_watermark=high_watermark) == expected


def lagging(known: FollowerProgress, *, leader_end: int, now_ms: int) -> set[int]:
    return known.lagging({0, 1, 2}, leader_end=leader_end, now_ms=now_ms, lag_time_max_ms=LIMIT_MS)


def test_lagging_counts_from_the_beginning_of_the_epoch_and_is_strict():
    known = progress()
    assert lagging(known, leader_end=5, now_ms=LIMIT_MS) == set()
    assert lagging(known, leader_end=5, now_ms=LIMIT_MS + 1) == {1, 2}


def test_lagging_counts_from_the_last_time_at_the_end_of_the_leader():
    known = progress()
    known.asked(1, 5, leader_end=5, now_ms=4_000)
    known.asked(2, 5, leader_end=5, now_ms=4_000)
    known.asked(2, 6, leader_end=6, now_ms=9_000)
    assert lagging(known, leader_end=7, now_ms=14_000) == set()
    assert lagging(known, leader_end=7, now_ms=14_001) == {1}


def test_lagging_does_not_name_a_follower_that_keeps_up_with_a_busy_leader():
    known = progress()
    for second in range(1, 60):  # each time it asks, the leader has more, but not yet at 2
        known.asked(1, second * 10 - 10, leader_end=second * 10, now_ms=second * 1_000)
        known.asked(2, second * 9 - 9, leader_end=second * 10, now_ms=second * 1_000)
    assert lagging(known, leader_end=590, now_ms=59_001) == {2}


def test_lagging_does_not_name_a_follower_that_has_everything():
    known = progress()
    known.asked(1, 5, leader_end=5, now_ms=1)
    assert lagging(known, leader_end=5, now_ms=99_999) == {2}


def test_lagging_names_only_in_sync_replicas():
    known = progress()
    found = known.lagging({0, 2}, leader_end=5, now_ms=99_999, lag_time_max_ms=LIMIT_MS)
    assert found == {2}
