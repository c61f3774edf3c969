import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns.murmur2 import partition_column
from kminilog.format.hashing import murmur2, to_positive
from tests.support.columns.strategies import column_of

MIXED = st.lists(st.none() | st.binary(max_size=40) | st.text(max_size=9).map(str.encode))
EQUAL = st.integers(0, 20).flatmap(lambda n: st.lists(st.binary(min_size=n, max_size=n)))


MOST = 2**31 - 1


def plain_partition(key: bytes | None, partitions: int) -> int | None:
    return None if key is None else to_positive(murmur2(key)) % partitions


@given(keys=MIXED | EQUAL, data=st.data(), partitions=st.sampled_from([1, 2, 7, 64, MOST]))
def test_partitions_of_a_column_are_the_plain_ones_of_each_key(keys, data, partitions):
    chosen = partition_column(data.draw(column_of(keys)), partitions)
    expected = [plain_partition(key, partitions) for key in keys]
    assert (chosen.type, chosen.to_pylist()) == (pa.int32(), expected)


@pytest.mark.parametrize("longest", [65_535, 65_536, 70_001])
def test_partitions_of_huge_keys_beside_small_ones_are_the_plain_ones(longest):
    keys = [b"a", b"x" * longest, None, b"", b"abcde"]
    expected = [plain_partition(key, MOST) for key in keys]
    assert partition_column(pa.array(keys), MOST).to_pylist() == expected


def test_partitions_of_more_than_one_block_are_the_plain_ones():
    keys = [b"%d" % n for n in range(40_000)]
    expected = [plain_partition(key, MOST) for key in keys]
    assert partition_column(pa.array(keys), MOST).to_pylist() == expected


def test_partitions_of_numbers_are_refused():
    with pytest.raises(ValueError, match="no bytes"):
        partition_column(pa.array([1]), 2)
