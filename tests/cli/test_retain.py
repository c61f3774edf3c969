"""`retain`: what goes by age and by size, at a given time."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.support.cli.command_line import CommandLine, assert_one_line
from tests.support.damage import files_of, flip_byte
from tests.support.storage.full_disk import fill

SEGMENTS = [f"{base_offset:020d}" for base_offset in (0, 5, 11, 16)]  # of `orders`
SIZES = [192, 196, 170, 102]
HOUR_MS = 3_600_000


@pytest.fixture
def aged(orders: CommandLine) -> CommandLine:
    """`orders` with segments that were last written 0, 1, 2 and 3 hours after the epoch."""
    for hour, name in enumerate(SEGMENTS):
        os.utime(orders.log_dir / "orders-0" / f"{name}.log", (hour * 3600, hour * 3600))
    return orders


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_retain_by_age_deletes_what_is_strictly_older(aged):
    aged.ok("topic", "alter", "orders", "--config", f"retention.ms={HOUR_MS}")
    retained = aged.ok("retain", "--now", 2 * HOUR_MS, "--json").document
    assert retained["deleted_segments"] == [
        {
            "topic": "orders",
            "partition": 0,
            "segment": SEGMENTS[0],
            "bytes": SIZES[0],
            "reason": "retention.ms",
        }
    ]
    assert f"{SEGMENTS[0]}.log.deleted" in names(aged.log_dir / "orders-0")
    described = aged.ok("topic", "describe", "orders", "--json").document
    assert described["partitions"][0]["log_start_offset"] == 6


def test_retain_without_limits_of_its_own_deletes_after_seven_days(aged):
    seven_days_ms = 7 * 24 * HOUR_MS
    assert aged.ok("retain", "--now", seven_days_ms).out == "nothing to delete\n"
    retained = aged.ok("retain", "--now", seven_days_ms + 1, "--json").document
    assert [one["segment"] for one in retained["deleted_segments"]] == SEGMENTS[:1]


def test_retain_by_size_deletes_only_whole_segments_of_the_excess(aged):
    retention = f"retention.bytes={sum(SIZES) - SIZES[0] - SIZES[1] + 1}"
    aged.ok("topic", "alter", "orders", "--config", "retention.ms=-1", "--config", retention)
    retained = aged.ok("retain", "--json").document
    assert [(s["segment"], s["reason"]) for s in retained["deleted_segments"]] == [
        (SEGMENTS[0], "retention.bytes")
    ]


def test_retain_of_everything_keeps_the_end_of_the_log(aged):
    aged.ok("topic", "alter", "orders", "--config", "retention.ms=1")
    assert len(aged.ok("retain", "--json").document["deleted_segments"]) == 4
    run = aged("produce", "orders", stdin=b"x\n")
    assert (run.code, run.out) == (0, "orders-0: offsets 20..20 (1 message)\n")


def test_retain_removes_files_whose_delay_is_over(aged):
    config = ["--config", f"retention.ms={HOUR_MS}", "--config", "file.delete.delay.ms=0"]
    aged.ok("topic", "alter", "orders", *config)
    removed = aged.ok("retain", "--now", 2 * HOUR_MS, "--json").document["removed_files"]
    assert [Path(path).name for path in removed] == [
        f"{SEGMENTS[0]}.index.deleted",
        f"{SEGMENTS[0]}.log.deleted",
    ]
    assert not [name for name in names(aged.log_dir / "orders-0") if SEGMENTS[0] in name]


@pytest.mark.parametrize("now_ms", [0, 2 * HOUR_MS, 2 * HOUR_MS + 1, 9 * HOUR_MS])
def test_retain_dry_run_says_what_a_run_then_does(aged, now_ms):
    aged.ok("topic", "alter", "orders", "--config", f"retention.ms={HOUR_MS}")
    before = files_of(aged.log_dir)
    planned = aged.ok("retain", "--now", now_ms, "--dry-run", "--json").document
    assert files_of(aged.log_dir) == before
    assert planned["dry_run"] is True
    done = aged.ok("retain", "--now", now_ms, "--json").document
    assert planned["deleted_segments"] == done["deleted_segments"]
    assert len(done["deleted_segments"]) == {0: 0, 2: 1, 9: 4}.get(now_ms // HOUR_MS, 2) + (
        now_ms % HOUR_MS
    )


@pytest.mark.parametrize("is_after_crash", [False, True])
@pytest.mark.parametrize("damage", ["crc", "cut", "gone", "torn", "no delay", "no directory"])
@pytest.mark.parametrize("slot", [0, 1, 3])
def test_retain_dry_run_promises_what_a_run_then_does(aged, damage, slot, is_after_crash):
    log = aged.log_dir / "orders-0" / f"{SEGMENTS[slot]}.log"
    retention = sum(SIZES) - SIZES[0] if damage == "torn" else SIZES[3]
    config = [f"retention.bytes={retention}", "retention.ms=-1"]
    if damage == "no delay":
        config.append("file.delete.delay.ms=0")
    aged.ok("topic", "alter", "orders", *(word for one in config for word in ("--config", one)))
    if damage == "crc":
        flip_byte(log, 14, mask=1)
    elif damage == "cut":
        os.truncate(log, log.stat().st_size // 2)
    elif damage == "gone":
        log.unlink()
        log.with_suffix(".index").unlink()
    elif damage == "torn":
        log.write_bytes(log.read_bytes() + log.read_bytes()[:20])
    elif damage == "no directory":
        shutil.rmtree(log.parent)
    if is_after_crash:
        (aged.log_dir / ".clean-shutdown").unlink()
        (aged.log_dir / "recovery-point-offset-checkpoint").unlink()
    before = files_of(aged.log_dir)
    planned = aged("retain", "--dry-run", "--json")
    assert files_of(aged.log_dir) == before
    done = aged("retain", "--json")
    assert json.loads(planned.out)["deleted_segments"] == json.loads(done.out)["deleted_segments"]
    assert json.loads(planned.out)["removed_files"] == json.loads(done.out)["removed_files"]
    assert planned.code == done.code
    assert done.code == 0 or planned.err in done.err


def test_retain_dry_run_keeps_an_empty_last_segment_as_a_run_does(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 2, "--config", "retention.ms=1")
    assert kminilog.ok("retain", "--dry-run", "--json").document["deleted_segments"] == []
    assert kminilog.ok("retain", "--json").document["deleted_segments"] == []


def test_retain_text_is_a_line_for_each_segment(aged):
    aged.ok("topic", "alter", "orders", "--config", f"retention.ms={HOUR_MS}")
    run = aged.ok("retain", "--now", 2 * HOUR_MS, "--dry-run")
    assert run.out == f"would be deleted: orders-0/{SEGMENTS[0]}, 192 bytes, by retention.ms\n"
    assert aged.ok("retain", "--now", 0).out == "nothing to delete\n"


def test_retain_leaves_a_damaged_partition_alone_and_does_the_others(aged):
    aged.ok("topic", "create", "whole", "--partitions", 1, "--config", "retention.ms=1")
    aged.ok("produce", "whole", stdin=b"x\ny\n")
    flip_byte(aged.log_dir / "orders-0" / f"{SEGMENTS[1]}.log", 50, mask=1)
    (aged.log_dir / ".clean-shutdown").unlink()
    (aged.log_dir / "recovery-point-offset-checkpoint").unlink()
    run = aged("retain", "--now", 10**15, "--json")
    assert run.code == 2
    assert [found["topic"] for found in run.document["deleted_segments"]] == ["whole"]
    assert run.err.count("\n") == 1
    assert f"{SEGMENTS[1]}.log, byte 32: damaged" in run.err


@pytest.mark.parametrize("now_ms", [-1, 2**63, 10**22])
def test_retain_at_a_time_out_of_bounds_is_one_line_and_deletes_nothing(aged, now_ms):
    before = files_of(aged.log_dir)
    assert_one_line(aged("retain", "--now", now_ms), 2, "--now", str(now_ms), "is not in the range")
    assert files_of(aged.log_dir) == before


LONG_LINES = [b"%06d" % number * 100 for number in range(6000)]


@pytest.fixture
def full(mount, dialect) -> CommandLine:
    """A log dir on a disk of 3 MB that its messages, and another file, have filled."""
    disk = mount("size=3m")
    kminilog = CommandLine(disk / "log-dir")
    config = ("--config", "segment.bytes=100000", "--config", "retention.bytes=500000")
    kminilog.ok(
        *("topic", "create", "orders", "--partitions", 2, "--dialect", dialect.name), *config
    )
    assert kminilog("produce", "orders", stdin=b"\n".join(LONG_LINES)).code == 2
    fill(disk)
    return kminilog


def is_usable(kminilog: CommandLine) -> bool:
    """Tell if messages can be written, and nothing is called lost."""
    kminilog.ok("produce", "orders", stdin=b"\n".join(LONG_LINES[:500]))
    return kminilog.ok("verify", "--json").document["verdict"] == "ok"


def test_retain_on_a_full_disk_frees_it_and_the_next_produce_works(full):
    planned = full.ok("retain", "--dry-run", "--json").document
    assert len(planned["deleted_segments"]) > 5
    assert len(planned["removed_files"]) == 2 * len(planned["deleted_segments"])
    done = full.ok("retain", "--json").document
    assert done == {**planned, "dry_run": False, "now_ms": done["now_ms"]}
    assert is_usable(full)


def test_retain_on_a_full_disk_after_a_crash_recovers_and_frees_it(full):
    (full.log_dir / ".clean-shutdown").unlink()
    log, index = (
        max((full.log_dir / "orders-0").glob(f"*.{suffix}")) for suffix in ("log", "index")
    )
    with open(log, "ab", buffering=0) as file:  # in its last page: an unfinished message
        assert file.write(log.read_bytes()[:20]) == 20
    index.unlink()
    fill(full.log_dir.parent)
    retained = full("retain")
    assert retained.code == 0, retained
    assert "torn-tail" in retained.err
    assert is_usable(full)


def test_retain_on_a_full_disk_that_cannot_keep_a_torn_tail_leaves_no_part_of_it(mount):
    disk = mount("size=1m")
    kminilog = CommandLine(disk / "log-dir")
    kminilog.ok("topic", "create", "orders", "--partitions", 1)
    kminilog.ok("produce", "orders", stdin=b"v")
    (log,) = (kminilog.log_dir / "orders-0").glob("*.log")
    log.write_bytes(log.read_bytes() + log.read_bytes()[:4] + b"\0\x0f" * 2 + bytes(300_000))
    (kminilog.log_dir / ".clean-shutdown").unlink()
    fill(disk)
    before = files_of(log.parent)
    assert_one_line(kminilog("retain"), 2, "remove other files of this disk by hand")
    assert files_of(log.parent) == before
    (disk / "filler").unlink()
    assert "torn-tail" in kminilog("retain").err
    kminilog.ok("produce", "orders", stdin=b"w")


def test_topic_alter_and_retain_on_a_full_disk_free_it(full):
    full.ok("topic", "alter", "orders", "--config", "retention.bytes=100000")
    full.ok("retain")
    assert is_usable(full)


def test_retain_on_a_full_disk_without_its_reserve_says_what_to_remove(full):
    (full.log_dir / ".reserve").write_bytes(b"")
    fill(full.log_dir.parent)
    before = files_of(full.log_dir / "orders-0")
    retained = full("retain")
    assert (retained.code, retained.out) == (2, "")
    assert "remove other files of this disk by hand" in retained.err
    assert files_of(full.log_dir / "orders-0") == before
