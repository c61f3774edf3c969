"""The reserve of a log dir on real full disks: small files are replaced, and it is there again."""

import errno

import pytest

from kminilog.storage.durable_files import replace_file
from kminilog.storage.reserve import RESERVE_FILE, keep_reserve
from tests.support.storage.full_disk import fill

PLENTY = b"x" * 60_000


def test_replace_file_on_a_full_disk_succeeds_and_the_reserve_is_there_again(mount):
    disk = mount("size=1m")
    keep_reserve(disk)
    (disk / "groups").mkdir()
    for path in (disk / "points", disk / "groups" / "group"):
        path.write_bytes(b"old" * 20_000)
    fill(disk)
    reserve = (disk / RESERVE_FILE).read_bytes()
    for _ in range(3):
        for path in (disk / "points", disk / "groups" / "group"):
            replace_file(path, PLENTY)
            assert path.read_bytes() == PLENTY
        assert (disk / RESERVE_FILE).read_bytes() == reserve


def test_replace_file_beyond_the_reserve_says_what_to_remove_and_leaves_the_old_file(mount):
    disk = mount("size=1m")
    keep_reserve(disk)
    (disk / "points").write_bytes(b"old")
    fill(disk)
    with pytest.raises(OSError, match=r"reserve .* remove other files") as caught:
        replace_file(disk / "points", b"x" * 200_000)
    assert caught.value.errno == errno.ENOSPC
    assert (disk / "points").read_bytes() == b"old"
    assert not (disk / "points.tmp").exists()
    replace_file(disk / "points", PLENTY)


@pytest.mark.parametrize("around", [None, b"a file of somebody's"])
def test_replace_file_on_a_full_disk_without_a_reserve_fails_and_removes_no_file(mount, around):
    disk = mount("size=1m")
    if around:
        (disk / RESERVE_FILE).write_bytes(around)
    (disk / "points").write_bytes(b"old")
    fill(disk)
    with pytest.raises(OSError, match="No space left on device:"):
        replace_file(disk / "points", b"new")
    assert not around or (disk / RESERVE_FILE).read_bytes() == around


def test_keep_reserve_on_a_full_disk_keeps_what_fits_and_fills_up_later(mount):
    disk = mount("size=64k")
    keep_reserve(disk)
    part = (disk / RESERVE_FILE).stat().st_size
    assert 0 < part <= 1 << 16
    keep_reserve(disk)
    assert (disk / RESERVE_FILE).stat().st_size == part


def test_keep_reserve_takes_space_on_the_disk_and_no_more_the_second_time(tmp_path):
    for _ in range(2):
        keep_reserve(tmp_path)
        assert (tmp_path / RESERVE_FILE).stat().st_size == 1 << 17
    assert (tmp_path / RESERVE_FILE).stat().st_blocks * 512 >= 1 << 17
