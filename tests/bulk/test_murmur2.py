import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.bulk.murmur2 import murmur2_column, partition_column
from kminilog.format.hashing import murmur2, to_positive
from tests.bulk.strategies import column_of

MIXED = st.lists(st.none() | st.binary(max_size=40) | st.text(max_size=9).map(str.encode))
EQUAL = st.integers(0, 20).flatmap(lambda n: st.lists(st.binary(min_size=n, max_size=n)))


@given(keys=MIXED | EQUAL, data=st.data(), partitions=st.sampled_from([1, 2, 7, 64, 2**31 - 1]))
def test_murmur2_of_a_column_is_the_plain_hash_of_each_key(keys, data, partitions):
    column = data.draw(column_of(keys))
    hashes = [None if key is None else murmur2(key) for key in keys]
    found = murmur2_column(column)
    assert (found.type, found.to_pylist()) == (pa.int32(), hashes)
    chosen = partition_column(column, partitions)
    places = [None if n is None else to_positive(n) % partitions for n in hashes]
    assert (chosen.type, chosen.to_pylist()) == (pa.int32(), places)


@pytest.mark.parametrize("longest", [65_535, 65_536, 70_001])
def test_murmur2_of_huge_keys_beside_small_ones_is_the_plain_hash(longest):
    keys = [b"a", b"x" * longest, None, b"", b"abcde"]
    expected = [None if key is None else murmur2(key) for key in keys]
    assert murmur2_column(pa.array(keys)).to_pylist() == expected


def test_murmur2_of_more_than_one_block_is_the_plain_hash():
    keys = [b"%d" % n for n in range(40_000)]
    assert murmur2_column(pa.array(keys)).to_pylist() == [murmur2(key) for key in keys]


def test_murmur2_of_numbers_is_refused():
    with pytest.raises(ValueError, match="no bytes"):
        murmur2_column(pa.array([1]))
