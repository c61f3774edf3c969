"""Two neighbours that have changed places are named, by the manifest of their job alone."""

import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.cuts import truncate_log
from kminilog.storage.publish import fingerprints
from kminilog.verification.findings import Finding, FindingClass
from kminilog.verification.records import read_small_files
from kminilog.verification.swaps import name_swaps
from tests.support.damage import message_positions
from tests.verification.test_lost_and_forged import ORDERS_0, PARTITIONS, ROWS, Scene

RANGE = 10


@pytest.fixture
def scene(tmp_path: Path, dialect, monkeypatch) -> Scene:
    monkeypatch.setattr(fingerprints, "RANGE_MESSAGES", RANGE)
    scene = Scene(tmp_path, dialect)
    scene.ingest("first")
    return scene


def rearrange(log: Path, order: Callable[[list[bytes]], None]) -> int:
    """Put messages in another order; each place keeps its offset. Returns the first offset."""
    data = log.read_bytes()
    positions = message_positions(data)
    contents = [data[a + 8 : b] for a, b in pairwise(positions)]
    (first,) = struct.unpack_from(">q", data)
    order(contents)
    numbered = (struct.pack(">q", first + n) + content for n, content in enumerate(contents))
    log.write_bytes(b"".join(numbered))
    return first


def swap(number: int) -> Callable[[list[bytes]], None]:
    def order(contents: list[bytes]) -> None:
        contents[number], contents[number + 1] = contents[number + 1], contents[number]

    return order


@pytest.mark.parametrize("number", [0, 3, 8])
@pytest.mark.parametrize("slot", [0, 1])
def test_neighbours_that_changed_places_are_named(scene, slot, number):
    offset = rearrange(scene.logs()[slot], swap(number)) + number
    report = scene.verified(allow=["index-position"])
    altered = [one for one in report.tally.findings() if one.kind == "altered"]
    assert [(one.offset, one.last_offset) for one in altered] == [(offset, None)]
    assert altered[0].detail.startswith(
        f"offsets {offset} and {offset + 1} have changed places: a message in offsets "
    )
    assert altered[0].segment == scene.logs()[slot].stem


def test_neighbours_on_both_sides_of_a_border_of_ranges_are_one_finding(scene):
    assert rearrange(scene.logs()[0], swap(RANGE - 1)) == 0
    report = scene.verified(allow=["index-position"])
    (altered,) = [one for one in report.tally.findings() if one.kind == "altered"]
    assert altered.offset == RANGE - 1


def test_neighbours_of_different_keys_are_named_beside_a_source_that_is_complete(scene):
    rearrange(scene.logs()[0], swap(3))
    report = scene.verified(against=scene.source(), allow=["index-position"])
    assert report.conservation["holds"]
    (altered,) = [one for one in report.tally.findings() if one.kind == "altered"]
    assert altered.place.startswith(f"orders-0/{scene.logs()[0].stem}.log, offset 3, byte ")


def test_neighbours_of_one_key_are_explained_by_the_one_that_comes_too_late(scene):
    scene.lines.write_text("".join(f"k:value {n}\n" for n in range(ROWS)))
    before = {partition: len(scene.logs(partition)) for partition in range(PARTITIONS)}
    scene.ingest("second")
    (grown,) = [p for p, count in before.items() if len(scene.logs(p)) > count + 1]
    offset = rearrange(scene.logs(grown)[-2], swap(3)) + 3
    options = {"against": scene.source(), "job": "second", "allow": ["index-position"]}
    report = scene.verified(**options)
    (altered,) = [one for one in report.tally.findings() if one.kind == "altered"]
    assert altered.offset == offset
    assert (altered.cause.kind, altered.cause.is_certain) == ("key-order", True)


def test_messages_further_apart_are_an_altered_range(scene):
    def order(contents: list[bytes]) -> None:
        contents[2], contents[5] = contents[5], contents[2]

    rearrange(scene.logs()[0], order)
    report = scene.verified(allow=["index-position"])
    (altered,) = [one for one in report.tally.findings() if one.kind == "altered"]
    assert (altered.offset, altered.last_offset) == (0, RANGE - 1)
    assert "changed places" not in altered.detail


@pytest.mark.parametrize("left", [5, RANGE])
def test_log_that_was_cut_since_the_check_names_no_swap(scene, left):
    """The second range has lost its end, or all of it."""
    reader = LogDir(scene.path).reader(ORDERS_0)
    topic = LogDir(scene.path).topic("orders")
    jobs = read_small_files(scene.path).partitions_of(topic)[0]
    altered = [
        Finding(FindingClass.ALTERED, *ORDERS_0, "", offset=at, last_offset=at + RANGE - 1)
        for at in (0, RANGE)
    ]
    with LogDirWriter.open(scene.path) as writer:
        truncate_log(writer.log(ORDERS_0), 2 * RANGE - left)
    assert name_swaps(reader, jobs, altered) == altered
    assert name_swaps(reader, jobs, altered[1:]) == altered[1:]


def test_two_swaps_in_one_range_are_an_altered_range(scene):
    def both(contents):
        swap(1)(contents)
        swap(5)(contents)

    rearrange(scene.logs()[0], both)
    report = scene.verified(allow=["index-position"])
    (altered,) = [one for one in report.tally.findings() if one.kind == "altered"]
    assert (altered.offset, altered.last_offset) == (0, RANGE - 1)
    assert "changed places" not in altered.detail


@pytest.mark.parametrize(("swaps", "named"), [([3, 13], 2), ([3, 13, 23], 0)])
def test_swaps_are_named_if_at_most_two_ranges_are_altered(scene, swaps, named):
    def all_of_them(contents):
        for number in swaps:
            swap(number)(contents)

    rearrange(scene.logs()[0], all_of_them)
    report = scene.verified(allow=["index-position"])
    altered = [one for one in report.tally.findings() if one.kind == "altered"]
    assert len(altered) == len(swaps)
    assert sum("changed places" in one.detail for one in altered) == named
