"""What is compressed, in parts and in the wrong way."""

import gzip
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.broker_files.codecs import CODECS, decompress
from kminilog.broker_files.record import CorruptRecord, NotChecked

pyarrow = pytest.importorskip("pyarrow")
MEGABYTE = bytes(1 << 20)


def compressed(codec: str, data: bytes) -> bytes:
    """Return what pyarrow, or the standard library, makes of the data."""
    return gzip.compress(data) if codec == "gzip" else pyarrow.compress(data, codec, asbytes=True)


def as_java_frames_it(*blocks: bytes) -> bytes:
    framed = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    for block in blocks:
        packed = compressed("snappy", block)
        framed += struct.pack(">i", len(packed)) + packed
    return framed


@pytest.mark.parametrize("codec", CODECS[1:])
@given(data=st.binary())
def test_what_was_compressed_comes_back(codec, data):
    assert decompress(codec, compressed(codec, data)) == data


@pytest.mark.parametrize("codec", CODECS[1:])
def test_bomb_stops_at_the_limit(codec):
    bomb = compressed(codec, MEGABYTE)
    assert len(bomb) < 1 << 16
    assert decompress(codec, bomb, limit_bytes=len(MEGABYTE)) == MEGABYTE
    said = f"more than {len(MEGABYTE) - 1} bytes when decompressed"
    assert decompress(codec, bomb, limit_bytes=len(MEGABYTE) - 1) == NotChecked(said)


@pytest.mark.parametrize("codec", CODECS[1:])
def test_cut_data_are_damage(codec):
    data = compressed(codec, bytes(range(256)) * 9)
    for length in range(1, len(data) - 1):
        assert isinstance(decompress(codec, data[:length]), CorruptRecord), length


@pytest.mark.parametrize("codec", CODECS[1:])
@given(data=st.binary(min_size=1, max_size=60))
def test_no_data_raise(codec, data):
    outcome = decompress(codec, data, limit_bytes=1 << 20)
    assert isinstance(outcome, bytes | CorruptRecord | NotChecked)


def test_snappy_as_java_frames_it_has_blocks_within_one_limit():
    framed = as_java_frames_it(b"one", b"", b"two")
    assert decompress("snappy", framed) == b"onetwo"
    assert isinstance(decompress("snappy", framed, limit_bytes=5), NotChecked)
    assert decompress("snappy", as_java_frames_it()) == b""


def test_snappy_block_longer_than_the_rest_is_damage():
    framed = as_java_frames_it(b"one")
    detail = f"snappy: a block of {len(framed) - 20} bytes, but {len(framed) - 21} are left"
    assert decompress("snappy", framed[:-1]) == CorruptRecord(detail)
    negative = framed[:16] + struct.pack(">i", -1)
    assert isinstance(decompress("snappy", negative), CorruptRecord)


@pytest.mark.parametrize("header", [b"", bytes(8)])
def test_snappy_frame_without_a_version_is_damage(header):
    outcome = decompress("snappy", b"\x82SNAPPY\0" + header)
    assert isinstance(outcome, CorruptRecord)


def test_gzip_of_several_members_is_one_text_and_rubbish_after_them_is_ignored():
    members = gzip.compress(b"one") + gzip.compress(b"two")
    assert decompress("gzip", members + b"rubbish") == b"onetwo"


def test_codec_that_kafka_has_not_is_damage():
    assert decompress("unknown", b"") == CorruptRecord("Unknown compression type")
