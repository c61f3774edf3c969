"""The account of a source: both steps and the full one agree, and with a plain count of copies."""

import re
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.clock import ManualClock
from kminilog.format.hashing import murmur2, to_positive
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.manifests import committed_path
from kminilog.verification.account import source_check
from kminilog.verification.account.engine import LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.findings import FindingClass
from kminilog.verification.report import Report
from tests.support.log_content import Content, KeyValue, content_of, write_anew

SETTINGS = TopicSettings(segment_bytes=200, index_interval_bytes=50)

# Few keys and few values: many copies, and records without a key.
lines = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", ""]), st.integers(0, 5)).map(
        lambda record: f"{record[0]}={record[1]}".encode()
    ),
    min_size=1,
    max_size=25,
)
edits = st.lists(
    st.tuples(
        st.sampled_from(["drop", "double", "value", "key", "swap", "move", "add"]),
        st.integers(0, 1000),
        st.integers(0, 1000),
    ),
    max_size=4,
)


def edited(content: Content, changes: list[tuple[str, int, int]]) -> Content:
    """Put some faults into the content of a log, and return it."""
    for kind, one, other in changes:
        places = [(p, slot) for p, messages in content.items() for slot in range(len(messages))]
        if not places:
            return content
        (p, slot), (q, second) = places[one % len(places)], places[other % len(places)]
        key, value = content[p][slot]
        if kind == "drop":
            del content[p][slot]
        elif kind == "double":
            content[q].insert(second, (key, value))
        elif kind == "value":
            content[p][slot] = key, b"x%d" % (other % 3)
        elif kind == "key":
            content[p][slot] = (None if key else b"b"), value
        elif kind == "swap":
            content[p][slot], content[q][second] = content[q][second], content[p][slot]
        elif kind == "move":
            del content[p][slot]
            content[other % len(content)].append((key, value))
        else:
            content[p].insert(slot, (b"a", b"a=%d" % (other % 7)))
    return content


def check(log_dir: Path, source: Source, **options: Any) -> Report:
    options |= {"against": source, "partitioner": "default-2.4"}
    return verify_with(LocalEngine(), ManualClock(), LogDir(log_dir), ["t"], **options)


def facts(report: Report) -> Any:
    """What a report says about the source, but for the steps that were taken."""
    found = report.to_json()
    kept = ("missing", "extra", "duplicate", "altered", "key-order")
    findings = [one for one in found["findings"] if one["class"] in kept]
    return found["conservation"], findings, found["verdict"]


def plain_counts(source: list[KeyValue], content: Content) -> dict[str, int]:
    """Copies counted with dictionaries: what the table in `account` says, in a few lines."""
    copies: dict[KeyValue, list[int]] = defaultdict(lambda: [0, 0])
    for record in source:
        copies[record][0] += 1
    for messages in content.values():
        for message in messages:
            copies[message][1] += 1
    return {
        "source": len(source),
        "stored": sum(map(len, content.values())),
        "missing": sum(max(there - stored, 0) for there, stored in copies.values()),
        "extra": sum(stored for there, stored in copies.values() if not there),
        "duplicate": sum(max(stored - there, 0) for there, stored in copies.values() if there),
    }


def disorder(source: list[KeyValue], content: Content) -> int:
    """How many pairs of balanced copies a later record of their key stands in front of.

    Copies are paired in the partition of their key, then across partitions. Pairs across say
    nothing if the messages stand in several partitions.
    """
    places: dict[KeyValue, list[int]] = defaultdict(list)
    for place, record in enumerate(source):
        places[record].append(place)
    stored: dict[KeyValue, list[tuple[int, int]]] = defaultdict(list)
    for partition, messages in sorted(content.items()):
        for slot, message in enumerate(messages):
            stored[message].append((partition, slot))
    pairs: dict[tuple[int, int], tuple[bytes, int]] = {}
    for (key, value), there in places.items():
        found_at = stored[key, value]
        if key is None or len(there) != len(found_at):
            continue
        home = to_positive(murmur2(key)) % len(content)
        at_home = [at for at in found_at if at[0] == home]
        others = [at for at in found_at if at[0] != home]
        is_clear = len({partition for partition, _ in found_at}) == 1
        for place, at in zip(there, at_home + (others if is_clear else []), strict=False):
            pairs[at] = key, place
    last: dict[tuple[int, bytes], int] = {}
    found = 0
    for partition, slot in sorted(pairs):
        key, place = pairs[partition, slot]
        found += place < last.get((partition, key), -1)
        last[partition, key] = place
    return found


def sequences(content: Content) -> dict[tuple[int, bytes], list[bytes | None]]:
    """The values of each key in each partition, in their order."""
    found: dict[tuple[int, bytes], list[bytes | None]] = defaultdict(list)
    for partition, messages in content.items():
        for key, value in messages:
            if key is not None:
                found[partition, key].append(value)
    return found


def records_of(source_lines: list[bytes]) -> list[KeyValue]:
    return [(line[:1] if line[:1] != b"=" else None, line) for line in source_lines]


@pytest.fixture(autouse=True)
def _no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@given(lines, edits, st.integers(1, 3), st.booleans(), st.sampled_from([1 << 20, 300]))
@settings(max_examples=150, deadline=None)
def test_sums_and_rows_and_a_plain_count_agree(source_lines, changes, partitions, has_job, size):
    """`has_job` tells if a job is on record, so that the partition of every record is known."""
    with tempfile.TemporaryDirectory() as directory:
        path, written, log_dir = (Path(directory, name) for name in ("t.txt", "one", "two"))
        path.write_bytes(b"\n".join(source_lines))
        source = Source((str(path),), key_regex="^([abc])=")
        options: dict[str, Any] = {"partitions": partitions, "settings": SETTINGS, "job_id": "j"}
        ingest_with(LocalIngest(), written, source, topic="t", **options)
        write_anew(written, log_dir, "t", lambda content: content.update(edited(content, changes)))
        if not has_job:
            committed_path(log_dir, "j").unlink()
        with patch.object(source_check, "_BUCKET_BYTES", size):
            quick, full = check(log_dir, source), check(log_dir, source, full=True)
        content = content_of(log_dir, "t")
    assert facts(quick) == facts(full)
    records = [(line[:1] if line[:1] != b"=" else None, line) for line in source_lines]
    found, expected = full.conservation, plain_counts(records, content)
    for name in ("missing", "extra"):
        expected[name] -= found["altered"]
    assert {name: found[name] for name in expected} == expected
    assert full.tally.counts().get(FindingClass.KEY_ORDER, 0) == disorder(records, content)
    if not changes:
        assert (quick.verdict, quick.scope["steps"]) == ("ok", ["sums"])


@given(
    st.sampled_from(["default-2.4", "round-robin", "random", "uniform-sticky", "built-in"]),
    st.integers(1, 3),
    st.integers(1, 40),
    st.integers(0, 2),
    st.randoms(use_true_random=True),
)
@settings(max_examples=100, deadline=None)
def test_order_of_a_key_is_that_of_its_partition_whatever_is_repeated(
    partitioner, partitions, count, swaps, chance
):
    """Of each partition the messages are only moved; no copy is told from the others."""
    keys = ["a", "a", "b", ""]
    source_lines = [
        b"%s=%d" % (chance.choice(keys).encode(), chance.randrange(4)) for _ in range(count)
    ]
    with tempfile.TemporaryDirectory() as directory:
        path, written, log_dir = (Path(directory, name) for name in ("t.txt", "one", "two"))
        path.write_bytes(b"\n".join(source_lines))
        source = Source((str(path),), key_regex="^([abc])=")
        options: dict[str, Any] = {"partitions": partitions, "partitioner": partitioner, "seed": 5}
        ingest_with(LocalIngest(), written, source, topic="t", job_id="j", **options)
        before = content_of(written, "t")

        def swap(content: Content) -> None:
            for messages in content.values():
                for _ in range(swaps if messages else 0):
                    one, other = chance.randrange(len(messages)), chance.randrange(len(messages))
                    messages[one], messages[other] = messages[other], messages[one]

        write_anew(written, log_dir, "t", swap)
        after = content_of(log_dir, "t")
        for is_full in (False, True):
            report = verify_with(
                LocalEngine(), ManualClock(), LogDir(log_dir), ["t"], against=source, full=is_full
            )
            classes = {FindingClass(one["class"]) for one in report.to_json()["findings"]}
            is_disordered = sequences(before) != sequences(after)
            assert (FindingClass.KEY_ORDER in classes) == is_disordered, is_full
            # A range of the job that was only reordered is altered, by its fingerprints.
            assert classes <= {FindingClass.KEY_ORDER, FindingClass.ALTERED}


def test_rows_in_memory_are_bounded_however_small_messages_are(tmp_path, monkeypatch):
    path, passes = tmp_path / "t.txt", []
    path.write_bytes(b"".join(b"%d\n" % number for number in range(95)))
    source, log_dir = Source((str(path),), key="value"), tmp_path / "log"
    ingest_with(LocalIngest(), log_dir, source, topic="t", partitions=1, job_id="j")
    monkeypatch.setattr(source_check, "_BUCKET_ROWS", 10)
    engine = LocalEngine(progress=passes.append)
    report = verify_with(engine, ManualClock(), LogDir(log_dir), ["t"], against=source, full=True)
    assert (report.verdict, report.conservation["stored"]) == ("ok", 95)
    assert passes.count("reading t-0") == 10


def test_equal_sums_take_one_step_and_an_altered_message_the_rows_of_its_cell(tmp_path, dialect):
    path = tmp_path / "t.txt"
    path.write_bytes(b"".join(b"k%03d=%d\n" % (n % 200, n) for n in range(4000)))
    source = Source((str(path),), key_regex="^(k[0-9]+)=")
    options: dict[str, Any] = {"partitions": 2, "dialect": dialect, "job_id": "j"}
    ingest_with(LocalIngest(), tmp_path / "one", source, topic="t", **options)
    assert check(tmp_path / "one", source).scope["steps"] == ["sums"]
    full = check(tmp_path / "one", source, full=True)
    assert (full.scope["steps"], full.verdict) == (["account"], "ok")

    def alter(content: Content) -> None:
        key, value = content[1][700]
        content[1][700] = key, value[:-1] + b"!"

    write_anew(tmp_path / "one", tmp_path / "two", "t", alter)
    found = check(tmp_path / "two", source)
    sums, rows = found.scope["steps"]
    assert (sums, found.conservation["altered"]) == ("sums", 1)
    assert re.fullmatch(r"account of 1 of [2-9]\d* cells", rows)
