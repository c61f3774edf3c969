from hypothesis import given
from hypothesis import strategies as st

from kminilog.cluster.leadership import Leadership, settle, with_in_sync

NODES = (2, 0, 1)


def test_settle_prefers_replica_order_to_the_order_of_ids():
    first = Leadership.of_new_partition(NODES)
    assert first == Leadership(NODES, 2, 0, NODES)
    assert settle(first, running={0, 1}).leader == 0
    assert settle(first, running={1}).leader == 1


def test_settle_does_not_give_the_place_back_to_the_preferred_leader():
    second = settle(Leadership.of_new_partition(NODES), running={0, 1})
    back = with_in_sync(second, {0, 1, 2})
    assert settle(back, running={0, 1, 2}) == back


def test_settle_when_all_fail_at_once_keeps_all_of_them_in_sync():
    none = settle(Leadership.of_new_partition(NODES), running=())
    assert none == Leadership(NODES, None, 0, NODES)
    assert settle(none, running={1}) == Leadership(NODES, 1, 1, (1,))


@given(st.lists(st.sets(st.sampled_from(NODES)), max_size=12), st.data())
def test_settle_keeps_its_promises_whatever_fails(runs, data):
    before = Leadership.of_new_partition(NODES)
    for running in runs:
        after = settle(before, running)
        assert set() < set(after.in_sync) <= set(before.in_sync)
        assert (after.leader is None) == (not set(after.in_sync) & running)
        if after.leader is not None:
            assert after.leader in set(after.in_sync) & running
            kept = after.leader == before.leader
            assert after.leader_epoch == before.leader_epoch + (not kept)
        assert settle(after, running) == after
        before = after
        if after.leader is not None:  # some that run catch up
            joined = data.draw(st.sets(st.sampled_from(sorted(running))))
            before = with_in_sync(after, joined | set(after.in_sync))
