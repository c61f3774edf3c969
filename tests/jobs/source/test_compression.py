"""What is compressed is read to its end or refused; what is text is never taken for it."""

import bz2
import gzip
import io
import lzma
import re
import sqlite3
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather, orc

from kminilog.errors import SourceError
from kminilog.jobs.source.compression import check_content, compression_of, open_decompressed

TEXT = b"".join(b"line %d of the text\n" % n for n in range(3000))


def by_arrow(name: str) -> Callable[[bytes], bytes]:
    def compress(data: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, name) as stream:
            stream.write(data)
        return bytes(sink.getvalue())

    return compress


CODECS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": (".gz", gzip.compress),
    "bzip2": (".bz2", bz2.compress),
    "zstd": (".zst", by_arrow("zstd")),
    "LZ4": (".lz4", by_arrow("lz4")),
}
# The first bytes of what other programs wrote.
REFUSED = {
    "xz": lzma.compress(TEXT),
    "Snappy": b"\xff\x06\x00\x00sNaPpY\x01\x05",
    "zip": b"PK\x03\x04\x14\x00",
    "tar": b"name".ljust(257, b"\0") + b"ustar\x0000",
    "Parquet": b"PAR1\x15\x04\x15",
}
NO_TEXT = (
    b"7z\xbc\xaf\x27\x1c\x00\x04",
    b"\x1f\x9d\x90\x61\xc4",  # compress
    b"\x02\x21\x4c\x18\x05",  # LZ4 of old
    b"Rar!\x1a\x07\x01\x00",
    b"LZIP\x01\x0c",
    b"\x89LZO\x00\r\n\x1a\n",
    b"\x27\xb5\x2f\xfd\x24",  # zstd of old
)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes], str]:
    def write_file(name: str, data: bytes) -> str:
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    return write_file


def content(path: str) -> bytes:
    check_content(path)
    with open_decompressed(path) as file:
        return file.read()


def refused(path: str) -> str:
    with pytest.raises(SourceError) as caught:
        check_content(path)
    assert "\n" not in str(caught.value)
    return caught.value.reason


def test_compression_of_looks_at_the_bytes_and_at_suffixes_of_any_case(write):
    for name, (suffix, compress) in CODECS.items():
        for file in (f"a{suffix}", f"a{suffix.upper()}", "a.log", "a"):
            path = write(file, compress(TEXT))
            assert (file, compression_of(path)) == (file, name)
            assert content(path) == TEXT, (name, file)


def test_open_decompressed_reads_all_members_of_a_file(write):
    for name, (suffix, compress) in CODECS.items():
        middle = len(TEXT) // 2
        path = write(f"a{suffix}", compress(TEXT[:middle]) + compress(TEXT[middle:]))
        assert content(path) == TEXT, name


def test_open_decompressed_of_what_is_cut_off_is_an_error_that_names_the_place(write):
    for name, (suffix, compress) in CODECS.items():
        whole = compress(TEXT)
        members = whole + compress(b"more")
        for data in (whole[:-1], whole[:-200], members[:-3], members[: len(whole) + 2]):
            path = write(f"a{suffix}", data)
            with pytest.raises(SourceError, match=f"its {name} data are cut off after"):
                content(path)
        with pytest.raises(SourceError) as caught:
            content(write(f"a{suffix}", members[: len(whole) + 2]))
        behind = re.search(rf"a\{suffix}: .* after (\d+) decompressed bytes", str(caught.value))
        assert behind
        assert len(TEXT) - io.DEFAULT_BUFFER_SIZE < int(behind[1]) <= len(TEXT)


def test_open_decompressed_of_what_has_rubbish_behind_it_is_an_error(write):
    for suffix, compress in CODECS.values():
        with pytest.raises(SourceError, match="data are damaged after"):
            content(write(f"a{suffix}", compress(TEXT) + b"rubbish"))


@pytest.mark.parametrize("zeros", [1, 512, 100_000])
def test_open_decompressed_of_gzip_takes_zero_bytes_behind_it_for_padding(write, zeros):
    packed = gzip.compress(TEXT) + gzip.compress(b"more")
    assert content(write("a.gz", packed + bytes(zeros))) == TEXT + b"more"
    with pytest.raises(SourceError, match="data are damaged after"):
        content(write("a.gz", packed + bytes(zeros) + b"rubbish"))


def test_open_decompressed_of_damaged_bytes_says_so(write):
    for name, (suffix, compress) in CODECS.items():
        packed = bytearray(compress(TEXT))
        packed[20:-20] = b"\xff" * (len(packed) - 40)
        with pytest.raises(SourceError, match=f"its {name} data are damaged after"):
            content(write(f"a{suffix}", bytes(packed)))


def skippable(data: bytes) -> bytes:
    return struct.pack("<II", 0x184D2A53, len(data)) + data


@pytest.mark.parametrize("name", ["zstd", "LZ4"])
def test_compression_of_looks_behind_frames_that_are_to_be_skipped(write, name):
    suffix, compress = CODECS[name]
    in_front = skippable(b"") + skippable(bytes(5000))
    for file in (f"a{suffix}", "a"):
        path = write(file, in_front + compress(TEXT))
        assert (file, compression_of(path)) == (file, name)
        assert content(path) == TEXT
        path = write(file, in_front)
        assert content(path) == b""
    with pytest.raises(SourceError, match=f"its {name} data are cut off"):
        content(write(f"a{suffix}", in_front[:-1]))


def test_frame_that_is_to_be_skipped_is_no_proof_of_a_compression(write):
    for data in (
        b"P*M\x18 is a text",
        skippable(b"x") + b"text",
        skippable(b"x") + gzip.compress(b""),
    ):
        assert compression_of(write("a.log", data)) is None, data
        assert content(write("a.log.gz", gzip.compress(data))) == data
    reason = refused(write("a.zst", skippable(b"x") + b"text"))
    assert reason.startswith("its name ends with .zst (zstd), but its first bytes are not")


ZSTD_FRAME = {  # RFC 8878: descriptor, then window descriptor or dictionary id, then one raw block
    "a window of more than 128 MiB; unpack it with `zstd -d --long=31`": b"\x00\xa8",
    "a dictionary; unpack it with `zstd -d -D DICTIONARY`": b"\x01\x58\x07",
    "an unsupported feature; unpack it": b"\x08\x58",  # the reserved bit
}


@pytest.mark.parametrize("needed", ZSTD_FRAME)
def test_open_decompressed_of_zstd_that_needs_more_says_what(write, needed):
    block = b"\x29\x00\x00hello"
    plain = b"\x28\xb5\x2f\xfd" + b"\x00\x58" + block
    assert content(write("a.zst", plain)) == b"hello"
    frame = b"\x28\xb5\x2f\xfd" + ZSTD_FRAME[needed] + block
    assert refused(write("a.zst", frame)) == f"its zstd data need {needed}"


def test_check_content_refuses_formats_that_are_not_read(write):
    for name, data in REFUSED.items():
        reason = refused(write("a.log", data))
        assert reason.startswith(f"it is {name}, "), reason
        assert ("--format parquet" if name == "Parquet" else "unpack it") in reason
    for data in NO_TEXT:
        assert refused(write("a.log", data)).startswith("it is no text: unpack it"), data
    for suffix, name, data in (
        (".br", "Brotli", b"\x0b\x02\x80"),
        (".deflate", "zlib", zlib.compress(TEXT)),
    ):
        named = f"its name ends with {suffix} ({name}), which is not read; unpack it"
        assert refused(write(f"part-00000{suffix}", data)).startswith(named)


def test_check_content_refuses_a_name_that_says_something_else(write):
    renamed = "; rename it, or write it anew"
    for name, data, reason in (
        ("a.gz", TEXT, "its name ends with .gz (gzip), but its first bytes are not"),
        ("a.XZ", TEXT, "its name ends with .xz (xz), but its first bytes are not"),
        ("a.gz", CODECS["zstd"][1](TEXT), "its name ends with .gz (gzip), but it is zstd"),
        ("a.zst", REFUSED["xz"], "its name ends with .zst (zstd), but it is xz"),
        ("a.gz", b"", "its name ends with .gz (gzip), but it is empty"),
    ):
        assert refused(write(name, data)) == reason + renamed


def test_check_content_refuses_what_is_no_text_inside_of_a_compressed_file(write):
    for name in ("tar", "Parquet", "xz"):
        reason = refused(write("a.tar.gz", gzip.compress(REFUSED[name])))
        assert reason.startswith(f"in its gzip there is {name}, "), reason


def test_check_content_takes_text_that_only_begins_like_a_magic_number(write):
    for data in (
        *(b"BZh9 is a word", b"PK\n", b"PAR1 is a club", b"(\xb5/", b"7zip\n", b"Rar! it said"),
        *(b"\x1f\x8b\n", b"LZIP 1", b"\x1f\x9dtext", b"", b"x" * 257 + b"ustar of old"),
    ):
        assert compression_of(write("a.log", data)) is None, data
        assert content(write("a.log", data)) == data


def test_open_decompressed_of_a_large_file_takes_little_memory(write):
    most_bytes = 16 << 20
    for suffix, compress in CODECS.values():
        path, allocated = write(f"a{suffix}", compress(bytes(2 * most_bytes))), []
        tracemalloc.start()
        with open_decompressed(path) as file:
            while file.read(1 << 20):
                allocated.append(pa.total_allocated_bytes())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(allocated) == 2 * most_bytes >> 20
        assert max(allocated) + peak < most_bytes, suffix


def by_writer(write_table: Callable[[pa.Table, pa.BufferOutputStream], None]) -> bytes:
    sink = pa.BufferOutputStream()
    write_table(pa.table({"a": [1, 2]}), sink)
    return bytes(sink.getvalue())


def database() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (a)")
        return connection.serialize()


CONTAINERS = {
    "ORC": by_writer(orc.write_table),
    "Arrow": by_writer(feather.write_feather),
    "Avro": b"Obj\x01\x04\x14avro.codec\x08null",
    "SequenceFile": b"SEQ\x06\x19org.apache.hadoop.io.Text",
    "SQLite": database(),
    "PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "HDF5": b"\x89HDF\r\n\x1a\n\x00",
}


def test_container_of_another_kind_is_refused_with_the_way_to_read_it(write):
    offenders = []
    for name, content in CONTAINERS.items():
        is_for_spark = name in ("ORC", "Avro")
        found = name if is_for_spark else "no text"
        way = "the DataFrame to" if is_for_spark else "write its records as text"
        for file in ("a", "a.txt", "a.csv"):
            reason = refused(write(file, content))
            if not reason.startswith(f"it is {found}") or way not in reason:
                offenders.append((name, file, reason))
    assert offenders == []


@pytest.mark.parametrize(
    "text",
    [
        b"ORC",
        b"ORCORC",
        b"ORCHARD,1\nPEAR,2\n",
        b"ORC\nORC\n",
        b"ORC x\r\nORC\r",
        b"FEA1bc",
        b"ORC is about ORC.",
        b"%PDF",
    ],
)
def test_text_that_begins_like_a_container_is_text(write, text):
    assert content(write("a.txt", text)) == text
