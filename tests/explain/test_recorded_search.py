from bisect import bisect_left, bisect_right

from hypothesis import given
from hypothesis import strategies as st

from kminilog.explain.recorded_search import Trace
from kminilog.storage.segment.lookup import UNTRACED

numbers = st.lists(st.integers(0, 100), unique=True).map(sorted)


@given(numbers, st.integers(-1, 101), st.sampled_from([bisect_left, bisect_right]))
def test_watched_search_finds_the_same_slot_in_logarithmic_probes(sequence, wanted, search):
    trace = Trace()
    assert search(trace.watch("s", sequence), wanted) == search(sequence, wanted)
    probes = trace.probes("s")
    assert len(probes) <= len(sequence).bit_length()
    assert all(sequence[probe.slot] == probe.value for probe in probes)


def test_trace_keeps_searches_apart_and_untraced_hands_the_sequence_back():
    trace = Trace()
    bisect_left(trace.watch("a", [1]), 1)
    bisect_left(trace.watch("b", [2]), 1)
    assert [probe.value for probe in trace.probes("a")] == [1]
    sequence = [1, 2]
    assert UNTRACED.watch("a", sequence) is sequence
