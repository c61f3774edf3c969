"""The next whole batch after damage, at whatever byte."""

import os
from pathlib import Path

import pytest

from kminilog.broker_files import damage
from kminilog.broker_files.damage import next_batch
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode


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
