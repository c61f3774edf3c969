"""The fault matrix on logs that jobs wrote, by their storage alone, manifests included.

    faults.py    75 faults that bytes, names and indexes tell of: the same findings as without jobs,
                 but for what only a manifest knows: an altered value, and messages gone at the end;
                 a sample of them, for test_fault_matrix.py has each
    forgery.py   16 faults that nothing but a manifest or a source tells of
    here         11 faults of the manifests, and 5 that nothing tells of, by their nature
    clean logs   50 of them, with silence

A job by the plan `runs`, a producer and a job by the plan `sorted` wrote the log, in this order.
"""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kminilog.format.dialect import DIALECTS
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.manifests import committed_manifests
from kminilog.storage.publish import fingerprints
from kminilog.verification.fast_segment_checks import check_segment as check_quickly
from kminilog.verification.partition_checks import check_partition
from kminilog.verification.records import SmallFiles
from kminilog.verification.report import verify_storage
from tests.support.damage import cut_to, files_of, index_entries, restore
from tests.support.verification.faults import (
    FILE_FAULTS,
    INDEX_FAULTS,
    MESSAGE_FAULTS,
    Expected,
    Slots,
    Spot,
)
from tests.support.verification.forgery import FORGERIES, Forger, Found
from tests.support.verification.job_logs import TOPIC, KeyValue, Step, write_job_log
from tests.support.verification.logs import found_in

SETTINGS = TopicSettings(segment_bytes=500, index_interval_bytes=60)
RANGE = 7
PARTITIONS = 3
DAMAGED = 1  # the partition that the faults of one partition are put in


def records(count: int, start: int = 0) -> list[KeyValue]:
    """Keys of one length, some without; lengths are mixed, no two neighbours are the same."""
    return [
        (None if n % 5 == 0 else b"k%02d" % (n % 11), b"%d" % n + bytes(n * 7 % 23))
        for n in range(start, start + count)
    ]


STEPS = [
    Step("runs", records(90), "first"),
    Step("producer", records(12, 90)),
    Step("sorted", records(75, 102), "second"),
]


@pytest.fixture(scope="module", params=DIALECTS.values(), ids=DIALECTS.keys())
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log, without a flaw; do not change it."""
    path = tmp_path_factory.mktemp("written") / "log"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprints, "RANGE_MESSAGES", RANGE)
        patch.setattr(os, "fsync", lambda descriptor: None)
        shape = {"partitions": PARTITIONS, "settings": SETTINGS, "partitioner": "default-0.9"}
        write_job_log(path, request.param, STEPS, **shape)
    return path


@pytest.fixture
def path(written: Path, tmp_path: Path) -> Path:
    shutil.copytree(written, tmp_path / "log")
    return tmp_path / "log"


def verified(path: Path) -> list[Found]:
    """What the storage tells of all partitions, which must be what the fast check tells."""
    report = verify_storage(LogDir(path)).to_json()
    assert verify_storage(LogDir(path), check_segment=check_quickly).to_json() == report
    assert not any(one["asked"] for one in report["unchecked"])
    assert all(found["count"] == len(found["samples"]) for found in report["findings"])
    return [
        Found(found["class"], sample["partition"], sample["offset"])
        for found in report["findings"]
        for sample in found["samples"]
    ]


def first_middle_last(count: int) -> list[int]:
    return sorted({0, count // 2, count - 1})


def test_log_of_jobs_and_a_producer_is_without_findings(path):
    assert verified(path) == []
    plans = [manifest.facts["plan"] for manifest in committed_manifests(path)]
    assert plans == ["runs", "sorted"]
    assert all(len(list(path.glob(f"{TOPIC}-{n}/*.log"))) > 3 for n in range(PARTITIONS))


# ---- what bytes, names and indexes tell of


Fault = Callable[[Spot], list[Expected] | None]


class Damage:
    """Puts faults into one partition and takes them out again."""

    def __init__(self, path: Path) -> None:
        log_dir = LogDir(path)
        topic = log_dir.topic(TOPIC)
        self.directory = path / f"{TOPIC}-{DAMAGED}"
        self.count = len(list(self.directory.glob("*.log")))
        manifests = committed_manifests(path)
        jobs = SmallFiles(manifests=manifests).partitions_of(topic)[DAMAGED]
        self.jobs = replace(jobs, recovery_point=None)
        self.ranges = [
            range(first, first + count)
            for manifest in manifests
            for staged in manifest.partitions
            if staged.partition == DAMAGED
            for first, count, _ in staged.fingerprints
        ]
        self._log_dir = log_dir
        assert self.jobs.placement

    def found(self) -> list[Expected]:
        reader = self._log_dir.reader(TopicPartition(TOPIC, DAMAGED))  # a new one has seen nothing
        plain = check_partition(reader, self.jobs)
        fast = check_partition(reader, self.jobs, check_segment=check_quickly)
        assert fast == plain
        return found_in(plain)

    def is_named(self, fault: Fault, spot: Spot) -> bool:
        files = files_of(self.directory)
        expected = fault(spot)
        if expected is not None:
            place = f"message {spot.slot} of segment {spot.segment}"
            assert self.found() == sorted(expected, key=str), place
            restore(self.directory, files)
        return expected is not None

    def spots(self) -> Iterator[Spot]:
        for segment in first_middle_last(self.count):
            count = len(Spot(self.directory, segment, 0).offsets)
            for slot in first_middle_last(count):
                yield Spot(self.directory, segment, slot)

    def at_end(self, spot: Spot) -> list[Expected]:
        """The job wrote more than there is from this message on, which was cut off."""
        log = max(self.directory.glob("*.log"))
        size = log.stat().st_size
        return [Expected("manifest-mismatch", log.stem, spot.offset, size)]

    def altered(self, spot: Spot) -> list[Expected]:
        for offsets in self.ranges:
            if spot.offset in offsets:
                names = [log.stem for log in spot.logs if offsets[0] in offsets_of(log)]
                return [Expected("altered", names[0], offsets[0], None)]
        return []  # a producer's


def offsets_of(log: Path) -> list[int]:
    spot = Spot(log.parent, sorted(log.parent.glob("*.log")).index(log), 0)
    return spot.offsets


@pytest.fixture
def damage(path: Path) -> Damage:
    return Damage(path)


def by_manifests(name: str, damage: Damage) -> Fault:
    """A fault of the old matrix, with what a manifest knows besides."""
    fault = (MESSAGE_FAULTS | FILE_FAULTS)[name]

    def known(spot: Spot) -> list[Expected] | None:
        if name == "value altered, crc mended":
            fault(spot)
            return damage.altered(spot)
        is_cut = name == "cut between" and spot.is_in_last_segment and spot.slot
        if is_cut or (name == "dropped" and spot.is_very_last):
            cut_to(spot.log, spot.position)
            return damage.at_end(spot)
        if name in ("emptied", "deleted") and spot.is_in_last_segment:
            if name == "emptied":
                cut_to(spot.log, 0)
            else:
                fault(spot)
            return damage.at_end(spot)
        return fault(spot)

    return known


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", MESSAGE_FAULTS)
def test_fault_in_a_message_of_a_job_is_named_by_its_class_at_its_place(damage, name):
    fault = by_manifests(name, damage)
    assert sum(damage.is_named(fault, spot) for spot in damage.spots()) > 0


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", FILE_FAULTS)
def test_fault_in_a_file_of_a_job_is_named_by_its_class_at_its_place(damage, name):
    fault = by_manifests(name, damage)
    spots = [Spot(damage.directory, n, 0) for n in range(damage.count)]
    spots = [spot for spot in spots if len(spot.offsets) > 3]  # a copy needs a free name
    spots = [spots[n] for n in first_middle_last(len(spots))]
    assert sum(damage.is_named(fault, spot) for spot in spots) > 0


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", INDEX_FAULTS)
def test_fault_in_an_index_of_a_job_is_named_by_its_class_at_its_place(damage, name):
    named = []
    for segment in first_middle_last(damage.count):
        spot = Spot(damage.directory, segment, 0)
        entries = index_entries(spot.index.read_bytes())
        for slot in first_middle_last(len(entries)) if entries else []:
            fault = INDEX_FAULTS[name]
            named.append(damage.is_named(lambda spot, s=slot, f=fault: f(Slots(spot, s)), spot))
    assert any(named)


@pytest.mark.soak
def test_every_fault_at_every_message_of_a_job_is_named(damage):
    for segment in range(damage.count):
        for slot in range(len(Spot(damage.directory, segment, 0).offsets)):
            for name in MESSAGE_FAULTS:
                damage.is_named(by_manifests(name, damage), Spot(damage.directory, segment, slot))
        for name in FILE_FAULTS:
            damage.is_named(by_manifests(name, damage), Spot(damage.directory, segment, 0))


# ---- what only manifests tell of


def forge(path: Path, name: str, partition: int, slot: int) -> list[Found] | None:
    forger = Forger(path, TOPIC, interval_bytes=SETTINGS.index_interval_bytes)
    messages = forger.messages(partition)
    expected = FORGERIES[name](forger, messages[slot % len(messages)])
    if expected is not None:
        forger.write()
    return expected


KINDS = {
    "magic altered": {"bad-magic"},
    "key altered to one of another partition": {"wrong-partition"},
    "moved to another partition": {"altered", "manifest-mismatch", "wrong-partition"},
    "dropped": {"altered", "manifest-mismatch"},
    "segment dropped": {"altered", "manifest-mismatch"},
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgery_is_named_where_a_manifest_knows_better(path, name):
    files, kinds, times = files_of(path), set[str](), 0
    for slot in (0, 1, 8, 25, -9, -1):
        expected = forge(path, name, DAMAGED, slot)
        if expected is not None:
            assert sorted(verified(path), key=str) == sorted(expected, key=str), slot
            kinds |= {found.kind for found in expected}
            times += 1
            restore(path, files)
    assert times > 2
    assert kinds == KINDS.get(name, {"altered"})


def test_forger_who_changes_nothing_leaves_no_trace(path):
    files = files_of(path)
    Forger(path, TOPIC, interval_bytes=SETTINGS.index_interval_bytes).write()
    assert files_of(path) == files


# ---- manifests


Change = Callable[[dict[str, Any]], Any]


def of_partition(change: Change) -> Change:
    return lambda m: change(next(e for e in m["partitions"] if e["partition"] == DAMAGED))


def move_offsets(entry: dict[str, Any]) -> None:
    """A claim to other offsets than the job has, without a contradiction in itself."""
    entry["fingerprints"] = []
    entry["next_offset"] += 1_000


MANIFEST_FAULTS: dict[str, Change] = {
    "an entry deleted": lambda m: m["partitions"].pop(DAMAGED),
    "all entries deleted": lambda m: m["partitions"].clear(),
    "another count": lambda m: m["facts"].update(count=1),
    "an entry twice": lambda m: m["partitions"].append(m["partitions"][DAMAGED]),
    "an entry of no partition": of_partition(lambda e: e.update(partition=9)),
    "first offset": of_partition(lambda e: e.update(first_offset=e["first_offset"] + 1)),
    "next offset": of_partition(lambda e: e.update(next_offset=e["next_offset"] - 1)),
    "offsets beyond the end": of_partition(move_offsets),
    "a fingerprint deleted": of_partition(lambda e: e["fingerprints"].pop()),
    "a fingerprint's count": of_partition(lambda e: e["fingerprints"][1].__setitem__(1, 1)),
    "a fingerprint's sum": of_partition(lambda e: e["fingerprints"][1].__setitem__(2, 1)),
}


@pytest.mark.parametrize("job", ["first", "second"])
@pytest.mark.parametrize("name", MANIFEST_FAULTS)
def test_fault_of_a_manifest_is_one_finding_because_a_later_record_has_its_digest(path, job, name):
    file = path / ".manifests" / f"{job}.json"
    manifest = json.loads(file.read_bytes())
    MANIFEST_FAULTS[name](manifest)
    file.write_text(json.dumps(manifest))
    assert verified(path) == [Found("manifest-mismatch", -1, None)]


@pytest.mark.parametrize("job", ["first", "second"])
@pytest.mark.parametrize("name", MANIFEST_FAULTS)
def test_fault_of_a_manifest_that_no_record_confirms_is_one_finding(path, job, name):
    (path / ".last-jobs").unlink()
    file = path / ".manifests" / f"{job}.json"
    manifest = json.loads(file.read_bytes())
    entry = manifest["partitions"][DAMAGED]
    first, (second_range, *_) = entry["first_offset"], entry["fingerprints"][1]
    MANIFEST_FAULTS[name](manifest)
    file.write_text(json.dumps(manifest))
    place = {
        "an entry twice": (DAMAGED, first),
        "first offset": (DAMAGED, first + 1),
        "next offset": (DAMAGED, first),
        "a fingerprint deleted": (DAMAGED, first),
        "a fingerprint's count": (DAMAGED, first),
    }.get(name, (-1, None))
    expected = Found("manifest-mismatch", *place)
    if name == "a fingerprint's sum":
        expected = Found("altered", DAMAGED, second_range)
    assert verified(path) == [expected]


# ---- what nothing in the storage tells of, by its nature


def test_what_a_producer_wrote_can_be_altered_without_a_trace(path):
    """And so can anything once its manifest is gone, or altered too."""
    forger = Forger(path, TOPIC, interval_bytes=SETTINGS.index_interval_bytes)
    first, second = (job["partitions"][DAMAGED] for job in forger.manifests())
    between = range(first["next_offset"], second["first_offset"])
    assert between
    forger.messages(DAMAGED)[between[0]].flip(-1, 1)
    forger.write()
    assert verified(path) == []
    shutil.rmtree(path / ".manifests")
    assert verified(path) == [Found("manifest-mismatch", -1, None)]  # that of the last job is gone
    (path / ".last-jobs").unlink()
    forger.messages(DAMAGED)[0].flip(-1, 1)
    forger.take_out(forger.messages(DAMAGED)[3])
    forger.put_behind(forger.messages(DAMAGED)[-1], forger.messages(DAMAGED)[0])
    forger.write()
    assert verified(path) == []


def test_first_segments_that_are_gone_are_one_finding(path):
    directory = path / f"{TOPIC}-{DAMAGED}"
    for log in sorted(directory.glob("*.log"))[:3]:
        log.unlink()
        log.with_suffix(".index").unlink()
    assert verified(path) == [Found("lost-start", DAMAGED, 0)]


def test_messages_behind_the_end_are_no_finding_but_counted_as_of_nobody(path):
    forger = Forger(path, TOPIC, interval_bytes=SETTINGS.index_interval_bytes)
    last = forger.messages(DAMAGED)[-1]
    forger.put_behind(last, last.copy())
    forger.write()
    assert verified(path) == []
    unchecked = verify_storage(LogDir(path)).unchecked
    (found,) = [one for one in unchecked if "no other recorded writer" in one.why]
    assert found.where == f"{TOPIC}-{DAMAGED}"
    assert found.why.startswith("1 message (")


# ---- silence


def clean_log(path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """Write a log of anything that jobs, producers and retention do; return the steps."""
    chance = random.Random(seed)
    monkeypatch.setattr(fingerprints, "RANGE_MESSAGES", chance.choice([1, 3, 10, 40, 1 << 14]))
    steps = []
    for number in range(chance.randint(1, 6)):
        kind = chance.choice(["runs", "sorted", "producer", "runs", "sorted", "retain"])
        count = chance.choice([1, 2, 5, 30, 120])
        null_share, sizes = chance.choice([0, 0.3, 1]), chance.choice([[0], [1, 9, 60], [20]])
        content = [
            (
                None if chance.random() < null_share else b"k%d" % chance.randrange(9),
                bytes(chance.choice(sizes)),
            )
            for _ in range(count)
        ]
        job = f"job-{number}" if kind in ("runs", "sorted") else ""
        steps.append(Step(kind, content, job, run_count=chance.randint(1, 4)))
    write_job_log(
        path,
        list(DIALECTS.values())[seed % 2],
        steps,
        partitions=chance.randint(1, 5),
        settings=TopicSettings(
            segment_bytes=chance.choice([150, 300, 1_000, 10_000]),
            index_interval_bytes=chance.choice([0, 60, 4096]),
        ),
        partitioner=chance.choice(["default-2.4", "default-0.8", "round-robin", "uniform-sticky"]),
    )
    return steps


@pytest.mark.usefixtures("without_fsync", "without_writers")
@pytest.mark.parametrize("tens", range(5))
def test_clean_logs_of_jobs_are_without_findings(tmp_path, monkeypatch, tens):
    for seed in range(10 * tens, 10 * tens + 10):
        path = tmp_path / str(seed)
        steps = clean_log(path, seed, monkeypatch)
        assert verified(path) == [], seed
        report = verify_storage(LogDir(path)).to_json()
        assert report["verdict"] == "ok"
        if "retain" not in {step.kind for step in steps}:
            stored = sum(partition["message_count"] for partition in report["partitions"])
            assert stored == sum(len(step.records) for step in steps)
        jobs = [step.job for step in steps if step.job]
        assert [manifest.job_id for manifest in committed_manifests(path)] == jobs
