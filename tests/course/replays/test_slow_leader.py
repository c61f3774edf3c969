"""A slow leader: the real producer, and how many records each partition gets."""

from random import Random

from kminilog.course.replays.slow_leader import replay_slow_leader


def test_slow_leader_counts_every_record_once():
    config = {"partitioner.class": "round-robin", "batch.size": 52}
    assert replay_slow_leader(config, 3, Random(0), records=10) == [4, 3, 3]


def test_slow_leader_gets_no_more_if_a_batch_is_one_record():
    config = {"partitioner.class": "uniform-sticky", "batch.size": 0}
    counts = replay_slow_leader(config, 2, Random(0))
    assert counts == [150, 150]
