import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kminilog.clock import ManualClock
from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.names import TopicPartition
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.settings import TopicSettings
from kminilog.storage.checkpoint import CHECKPOINT_FILE
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import MANIFEST_DIR, committed_manifests
from kminilog.storage.topics import Topic
from kminilog.verification.account.engine import LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.coverage import NO_SOURCE, Aspect, Unchecked, coverage_of
from kminilog.verification.findings import Finding, FindingClass, Tally
from kminilog.verification.report import Report, verify_storage
from kminilog.verification.summaries import PartitionSummary
from tests.support.damage import fix_crc, flip_byte, message_positions
from tests.support.unreadable import CAUSES, without_privileges

ORDERS = Topic("orders", 2, KAFKA, TopicSettings(segment_bytes=300))


@pytest.fixture
def log_dir(tmp_path: Path) -> LogDir:
    """Two partitions of orders, each key where murmur2 puts it; an empty topic."""
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(ORDERS)
        writer.create_topic(Topic("empty", 3))
        for n in range(30):
            key = b"k%d" % n
            partition = ORDERS.partition(murmur2_partition(key, 2))
            writer.log(partition).append([(key, b"value %d" % n)])
    return LogDir(tmp_path)


def first_log(log_dir: LogDir, partition: int = 0) -> Path:
    return min(log_dir.directory(TopicPartition("orders", partition)).glob("*.log"))


UNREAD = Unchecked(Aspect.MESSAGES, "orders-0", "a file", asked=True)


def report(
    *kinds: FindingClass, unchecked: list[Unchecked] | None = None, allow: tuple = ()
) -> Report:
    tally = Tally(Finding(kind, "orders", 0, "why") for kind in kinds)
    return Report({}, tally=tally, unchecked=unchecked or [], allowed=frozenset(allow))


# ---- verdict

CRC, GAP = FindingClass.BAD_CRC, FindingClass.OFFSET_GAP


@pytest.mark.parametrize(
    ("kinds", "unchecked", "allow", "verdict", "exit_code"),
    [
        ((), [], (), "ok", 0),
        ((CRC,), [], (), "findings", 1),
        ((FindingClass.INDEX_SPARSE,), [], (), "findings", 1),
        ((CRC,), [], (CRC,), "ok", 0),
        ((CRC,), [], (GAP,), "findings", 1),
        ((CRC, GAP), [], (GAP,), "findings", 1),
        ((), [UNREAD], (), "partial", 2),
        ((CRC,), [UNREAD], (CRC,), "partial", 2),
        ((CRC,), [UNREAD], (), "findings", 1),
        ((), [NO_SOURCE], (), "ok", 0),
        ((), [NO_SOURCE, UNREAD], (), "partial", 2),
        ((CRC,), [NO_SOURCE], (), "findings", 1),
    ],
)
def test_verdict_follows_from_findings_and_what_is_unchecked(
    kinds, unchecked, allow, verdict, exit_code
):
    made = report(*kinds, unchecked=unchecked, allow=allow)
    assert (made.verdict, made.exit_code) == (verdict, exit_code)
    assert made.to_json()["unchecked"] == [one.to_json() for one in unchecked]


# ---- verify_storage


def test_verify_clean_log_dir_is_ok_and_counts_everything(log_dir):
    progress: list[str] = []
    made = verify_storage(log_dir, [], partitioner="default-2.4", progress=progress.append)
    assert made.verdict == "ok"
    assert [p["topic"] for p in made.partitions] == ["empty"] * 3 + ["orders"] * 2
    assert sum(p["message_count"] for p in made.partitions) == 30
    assert len(progress) == 5
    assert made.scope["topics"] == ["empty", "orders"]


def test_verify_empty_topic_is_ok_with_zero_counts(log_dir):
    made = verify_storage(log_dir, ["empty"])
    assert made.verdict == "ok"
    assert {p["message_count"] for p in made.partitions} == {0}


def test_verify_log_dir_without_topics_is_ok_and_another_directory_is_partial(tmp_path):
    made = verify_storage(LogDir(tmp_path))
    assert (made.verdict, made.partitions) == ("partial", [])
    (asked,) = [one for one in made.unchecked if one.asked]
    assert asked.why == f"{tmp_path} holds no topic, and no writer was ever here; name a log dir"
    LogDirWriter.open(tmp_path).close()
    made = verify_storage(LogDir(tmp_path))
    assert (made.verdict, made.partitions) == ("ok", [])


def test_verify_topic_that_is_named_twice_is_checked_once(log_dir):
    assert len(verify_storage(log_dir, ["orders", "orders"]).partitions) == 2


def test_verify_unknown_topic_is_an_error(log_dir):
    with pytest.raises(UnknownTopicOrPartitionError):
        verify_storage(log_dir, ["orders", "nothing"])


def test_verify_unknown_class_to_allow_lists_all_classes(log_dir):
    with pytest.raises(ValueError, match=r"'bad'.*bad-crc.*orphan-file"):
        verify_storage(log_dir, [], allow=["bad"])


def test_verify_unknown_partitioner_is_an_error(log_dir):
    with pytest.raises(ValueError, match="default-9"):
        verify_storage(log_dir, [], partitioner="default-9")


def test_verify_damage_is_reported_with_the_fields_of_the_contract(log_dir):
    log = first_log(log_dir, 1)
    flip_byte(log, log.stat().st_size - 1, mask=1)
    made = json.loads(json.dumps(verify_storage(log_dir, ["orders"]).to_json()))
    assert made.keys() >= {"verdict", "scope", "conservation", "partitions", "findings"}
    assert (made["verdict"], made["conservation"]) == ("findings", {})
    (found,) = made["findings"]
    assert found.keys() == {"class", "severity", "count", "samples"}
    assert (found["class"], found["severity"], found["count"]) == ("bad-crc", "error", 1)
    (sample,) = found["samples"]
    assert (sample["topic"], sample["partition"], sample["segment"]) == ("orders", 1, log.stem)
    assert [p["finding_count"] for p in made["partitions"]] == [0, 1]


def test_verify_allowed_finding_is_reported_and_ok(log_dir):
    flip_byte(first_log(log_dir), 20, mask=1)
    (kind,) = verify_storage(log_dir).tally.counts()
    made = verify_storage(log_dir, allow=[kind.value])
    assert (made.verdict, made.tally.total()) == ("ok", 1)


def test_verify_missing_partition_directory_is_one_finding(log_dir):
    end = log_dir.reader(TopicPartition("orders", 1)).log_end_offset
    shutil.rmtree(log_dir.directory(TopicPartition("orders", 1)))
    made = verify_storage(log_dir)
    assert (made.verdict, made.exit_code) == ("findings", 1)
    assert not [one for one in made.unchecked if one.asked]
    (found,) = made.tally.findings()
    assert (found.kind, found.place) == ("lost-partition", "orders-1, offset 0")
    assert found.detail.startswith(f"the directory is gone; offsets 0 to {end - 1} were in it; ")


def test_verify_missing_directory_of_an_empty_partition_is_a_finding(log_dir):
    shutil.rmtree(log_dir.directory(TopicPartition("empty", 1)))
    (found,) = verify_storage(log_dir).tally.findings()
    assert (found.kind, found.place) == ("lost-partition", "empty-1, offset 0")
    told = "the directory is gone; no checkpoint and no job names a message of it; put it back"
    assert found.detail.startswith(told)


def test_verify_says_what_it_checked_and_what_nobody_asked_for(log_dir):
    made = verify_storage(log_dir).to_json()
    assert (made["verdict"], made["checked"]) == (
        "ok",
        ["messages", "indexes", "log-starts", "log-ends"],
    )
    assert [(one["what"], one["where"], one["option"]) for one in made["unchecked"]] == [
        ("placement", "empty", "--partitioner NAME"),
        ("placement", "orders", "--partitioner NAME"),
        ("source", "", "--against SOURCE"),
    ]
    assert not any(one["asked"] for one in made["unchecked"])
    asked = verify_storage(log_dir, ["orders"], partitioner="default-2.4").to_json()
    assert asked["checked"] == ["messages", "indexes", "log-starts", "log-ends", "placement"]
    assert [one["what"] for one in asked["unchecked"]] == ["source"]


def test_verify_needs_no_partitioner_for_a_topic_of_one_partition(tmp_path):
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("one", 1))
        writer.log(TopicPartition("one", 0)).append([(b"k", b"v")])
    assert verify_storage(LogDir(tmp_path)).unchecked == [NO_SOURCE]


def test_verify_with_a_clock_says_how_long_it_took(log_dir):
    clock = ManualClock(5_000)
    engine = LocalEngine(progress=lambda _: clock.sleep_ms(250))
    made = verify_with(engine, clock, log_dir, [])
    assert (made.seconds, verify_storage(log_dir).seconds) == (1.25, None)
    assert made.to_json()["engine"] == "local"


@pytest.mark.parametrize(("partitioner", "verdict"), [(None, "ok"), ("default-2.4", "partial")])
def test_verify_compressed_messages_are_partial_only_if_their_keys_are_asked_for(
    log_dir, partitioner, verdict
):
    log = first_log(log_dir)
    positions = message_positions(log.read_bytes())
    with open(log, "r+b") as file:
        file.seek(positions[0] + 17)
        file.write(b"\x01")  # the attributes: gzip
    fix_crc(log, positions[0])
    made = verify_storage(log_dir, ["orders"], partitioner=partitioner)
    assert made.verdict == verdict
    (compressed,) = [one for one in made.unchecked if one.what == "compressed-messages"]
    assert (compressed.where, compressed.asked) == ("orders", partitioner is not None)
    assert "1 not opened" in compressed.why


@pytest.mark.parametrize("cause", CAUSES)
def test_verify_manifests_that_cannot_be_listed_are_partial(log_dir, cause, tmp_path):
    shutil.copytree(log_dir.path, tmp_path / "copy")
    CAUSES[cause](tmp_path / "copy" / MANIFEST_DIR)
    with without_privileges():
        made = verify_storage(LogDir(tmp_path / "copy"))
        with pytest.raises(OSError, match=r"\.manifests"):
            committed_manifests(tmp_path / "copy")
    assert (made.verdict, made.exit_code) == ("partial", 2)
    asked = [one for one in made.unchecked if one.asked]
    assert (asked[-1].what, asked[-1].where) == ("jobs", MANIFEST_DIR)
    # Whether a job is pending is not known either: no partition counts as checked.
    assert {one.where for one in asked[:-1]} == {"empty-0", "empty-1", "empty-2"} | {
        "orders-0",
        "orders-1",
    }
    assert all(MANIFEST_DIR in one.why for one in asked[:-1])
    assert "messages" not in made.checked


# ---- where keys belong


def swap_partitions(log_dir: LogDir) -> None:
    one, other = (log_dir.directory(topic_partition) for topic_partition in ORDERS.all_partitions())
    (log_dir.path / CHECKPOINT_FILE).unlink()  # it says where each of the two ends
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def test_verify_messages_in_the_wrong_partition_are_found_if_a_partitioner_is_given(log_dir):
    swap_partitions(log_dir)
    assert verify_storage(log_dir).verdict == "ok"
    made = verify_storage(log_dir, partitioner="default-2.4")
    assert made.tally.counts() == {FindingClass.WRONG_PARTITION: 30}


def test_verify_takes_no_lock_and_writes_nothing(log_dir):
    with LogDirWriter.open(log_dir.path):
        before = sorted((str(p), p.stat().st_mtime_ns) for p in log_dir.path.rglob("*"))
        assert verify_storage(log_dir).verdict == "ok"
        assert sorted((str(p), p.stat().st_mtime_ns) for p in log_dir.path.rglob("*")) == before


def test_partition_that_cannot_be_listed_counts_nowhere_as_checked():
    unlisted = PartitionSummary(
        *("orders", 0, 0, 0, 0, 0, 0),
        [],
        ["orders-0: Permission denied"],
        0,
        0,
        True,
        True,
        True,
        True,
    )
    topic = Topic("orders", 1, DOCUMENTED)
    checked, unchecked = coverage_of(topic, [unlisted])
    assert checked == []
    assert [(one.what, one.where, one.asked) for one in unchecked] == [
        ("messages", "orders-0", True)
    ]
    listed = replace(unlisted, unchecked=[])
    checked, _ = coverage_of(topic, [listed])
    assert checked == ["messages", "indexes", "log-starts", "log-ends", "jobs", "placement"]


def test_verify_finds_directories_of_no_topic(log_dir):
    (log_dir.path / "orders.json").rename(log_dir.path / "kept")
    whole = verify_storage(log_dir)
    assert (whole.verdict, [f.place for f in whole.tally.findings()]) == (
        "findings",
        ["orders-0", "orders-1"],
    )
    assert whole.to_json()["findings"][0]["class"] == "orphan-partition"
    (first, _) = whole.tally.findings()
    assert first.detail == (
        "it holds messages, but orders.json is missing; put that file back, or move this away"
    )
    named = verify_storage(log_dir, ["orders"])
    assert (named.scope["topics"], named.tally.findings()) == ([], whole.tally.findings())
    assert verify_storage(log_dir, ["empty"]).verdict == "ok"
    assert verify_storage(log_dir, allow=["orphan-partition"]).verdict == "ok"
    with pytest.raises(UnknownTopicOrPartitionError):
        verify_storage(log_dir, ["nothing"])


def test_verify_finds_partitions_above_those_of_their_topic(log_dir):
    settings = log_dir.path / "orders.json"
    settings.write_text(settings.read_text().replace('"partitions": 2', '"partitions": 1'))
    for topics in (), ("orders",):
        (found,) = verify_storage(log_dir, topics).tally.findings()
        assert (found.kind, found.place) == ("orphan-partition", "orders-1")
        assert "but orders.json says 1 partition; mend that file" in found.detail
    assert verify_storage(log_dir, ["empty"]).verdict == "ok"
