"""CRC-32C: the package, the table and the definition give the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.broker_files.crc32c import crc32c
from kminilog.format import later_formats
from tests.support import damage


@given(st.binary())
def test_table_and_the_one_in_use_give_what_the_bits_give(data):
    assert crc32c(data) == later_formats.crc32c(data) == damage.crc32c(data)


@pytest.mark.parametrize(
    "data, crc",
    [
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_examples_of_rfc_3720(data, crc):
    assert crc32c(data) == later_formats.crc32c(data) == crc


def test_package_gives_what_the_table_gives():
    package = pytest.importorskip("google_crc32c")
    for length in range(300):
        data = bytes(byte * length & 0xFF for byte in range(length))
        assert package.value(data) == later_formats.crc32c(data)
