from hypothesis import given
from hypothesis import strategies as st

from kminilog.format.names import MAX_OFFSET, parse_segment_file, segment_name
from kminilog.storage.partition.segment_names import segments_among, whole_segments

bases = st.integers(0, MAX_OFFSET) | st.sampled_from([0, MAX_OFFSET, MAX_OFFSET + 1])
names = st.sets(
    st.builds(str.__add__, bases.map(segment_name), st.sampled_from([".log", ".index", ".log.x"]))
    | st.sampled_from(["x.log", "7.log", f"x{segment_name(7)}.log", "notes.txt"])
)


@given(names)
def test_segments_among_names_are_those_that_parse_as_a_log(names):
    parsed = [parse_segment_file(name) for name in names]
    expected = [each[0] for each in parsed if each and each[1] == ".log"]
    assert segments_among(names) == expected


@given(names)
def test_whole_segments_and_the_other_files_are_all_names(names):
    whole, others = whole_segments(names)
    files = [segment_name(base) + suffix for base in whole for suffix in (".index", ".log")]
    assert sorted([*files, *others]) == sorted(names)
    assert sorted(whole + segments_among(others)) == sorted(segments_among(names))
