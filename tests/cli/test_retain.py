"""`retain`: what goes by age and by size, at a given time."""

import os
from pathlib import Path

import pytest

from tests.support.cli.command_line import CommandLine, assert_one_line
from tests.support.damage import files_of, flip_byte

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
