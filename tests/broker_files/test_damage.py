"""The next whole batch after damage, at whatever byte; and the byte that is wrong."""

import os
import random
from pathlib import Path

import pytest

from kminilog.broker_files import damage
from kminilog.broker_files.damage import next_batch, wrong_byte_in
from kminilog.broker_files.entries import RecordBatch, decode_batch
from kminilog.broker_files.log_file import DamagedBytes, walk_log
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from tests.broker_files.golden_files import ALL


@pytest.mark.parametrize("after", range(40))
def test_next_batch_after_zeros_is_found_wherever_a_window_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
):
    """Its offset begins with zeros, too. A window of zeros is left out as a whole."""
    monkeypatch.setattr(damage, "_WINDOW_BYTES", 64)
    path, zeros = tmp_path / "a.log", 1 + 3 * 47 + after
    path.write_bytes(bytes(zeros) + encode(KAFKA, 0, None, b"v") + bytes(30))
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = next_batch(descriptor, 0, path.stat().st_size)
    finally:
        os.close(descriptor)
    assert found is not None
    assert found.position == zeros


def flipped(data: bytes, *bits: int) -> bytes:
    found = bytearray(data)
    for bit in bits:
        found[bit // 8] ^= 1 << bit % 8
    return bytes(found)


def whole_batches() -> dict[str, bytes]:
    """Those of all clients and formats that are one batch, and sound."""
    return {
        name: data
        for name, data in ALL.items()
        if isinstance(batch := decode_batch(data), RecordBatch) and batch.length_bytes == len(data)
    }


def test_1000_single_bits_in_batches_of_all_formats_are_named_and_1000_pairs_never():
    rng = random.Random(61)
    batches = [*whole_batches().values()]
    assert {data[16] for data in batches} == {0, 1, 2}
    for _ in range(1000):
        data = rng.choice(batches)
        first = 17 if data[16] == 2 else 12  # the crc
        bits = [bit for bit in range(8 * first, 8 * len(data)) if bit // 8 != 16]
        bit = rng.choice(bits)
        assert wrong_byte_in(flipped(data, bit)) == (bit // 8, 1 << bit % 8)
        one, other = rng.sample(bits, 2)
        if one // 8 != other // 8:
            assert wrong_byte_in(flipped(data, one, other)) is None


def test_the_place_in_the_file_is_said_and_whether_it_is_the_crc(tmp_path: Path):
    path = tmp_path / "a.log"
    data = next(data for data in whole_batches().values() if data[16] == 2)
    for at, in_crc in (30, ""), (18, " (in the crc)"):
        path.write_bytes(data + flipped(data, 8 * at))
        (damage,) = (found for found in walk_log(path) if isinstance(found, DamagedBytes))
        place = f"byte {len(data) + at}{in_crc}, {data[at] ^ 1:02x} was {data[at]:02x}"
        assert getattr(damage.outcome, "detail", "").endswith(
            f"; if only one bit is wrong: {place}"
        )
