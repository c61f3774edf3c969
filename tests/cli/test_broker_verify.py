"""`kminilog verify` of a Kafka broker's log directory: the verdict, in each of its forms."""

import json
import shlex
import sys
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest

from kminilog.verification.broker_files.faults import BrokerFault
from tests.broker_files.partitions import broker_directory
from tests.support.broker_files.damages import damage, partition_of_all_kinds
from tests.support.cli.command_line import CommandLine
from tests.support.damage import flip_byte
from tests.support.trees import tree_of


@pytest.fixture
def kafka(tmp_path: Path) -> CommandLine:
    return CommandLine(partition_of_all_kinds(tmp_path / "kafka", rounds=12).log_dir)


@pytest.fixture
def damaged(kafka: CommandLine) -> CommandLine:
    flip_byte(next(kafka.log_dir.glob("orders-0/*.log")), 70, mask=1)
    return kafka


def test_verify_of_a_broker_is_ok_and_says_what_it_checked(kafka: CommandLine):
    run = kafka.ok("verify", "orders", "--full")
    assert run.out.endswith(
        "verdict: ok; no findings in 1 partition, 1 segment, 168 whole messages, 6744 bytes\n"
    )
    assert "records, compressed-messages, log-starts, log-ends" in run.out


def test_verify_of_a_broker_finds_damage(damaged: CommandLine):
    run = damaged("verify")
    assert run.code == 1
    assert "bad-crc  error  1" in run.out
    assert "offsets 0..4, byte 0: Record is corrupt (stored crc = " in run.out


def test_verify_of_a_broker_prints_one_document(damaged: CommandLine):
    document = damaged("verify", "--json").document
    assert (document["verdict"], document["engine"]) == ("findings", "local")
    ((found,), (partition,)) = document["findings"], document["partitions"]
    assert (found["class"], found["count"]) == ("bad-crc", 1)
    assert partition["missing_offsets"] == {
        "compaction": 0,
        "truncation": 0,
        "loss": 0,
        "control": 12,
        "damage": 5,
        "retention": 0,
    }
    assert [one["finding_count"] for one in partition["segments"]] == [1]
    assert {"what": "records", "option": "--full"}.items() <= document["unchecked"][0].items()


def test_command_of_a_finding_shows_the_damage(damaged: CommandLine):
    (found,) = damaged("verify", "--json").document["findings"]
    _, *words = found["samples"][0]["command"].split()
    run = damaged(*words)
    assert "stored crc" in run.out + run.err


def test_verify_of_a_broker_allows_a_class(damaged: CommandLine):
    assert damaged("verify", "--allow", "bad-crc").code == 0
    run = damaged("verify", "--allow", "key-order")
    assert run.code == 2
    assert "there are: bad-crc, " in run.err


def test_verify_of_a_broker_writes_reports(damaged: CommandLine, tmp_path: Path):
    files = {name: tmp_path / name for name in ("r.html", "r.json", "r.txt", "j.xml", "f.jsonl")}
    for name in ("r.html", "r.json", "r.txt"):
        words = ["--report", files[name], "--junit", files["j.xml"], "--findings", files["f.jsonl"]]
        assert damaged("verify", *words).code == 1
    assert "bad-crc" in files["r.html"].read_text()
    assert json.loads(files["r.json"].read_bytes())["verdict"] == "findings"
    assert "bad-crc" in files["r.txt"].read_text()
    suite = ElementTree.parse(files["j.xml"]).getroot()[0]
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert set(cases) == {kind.value for kind in BrokerFault}
    assert [name for name, case in cases.items() if case.find("failure") is not None] == ["bad-crc"]
    (row,) = map(json.loads, files["f.jsonl"].read_text().splitlines())
    assert (row["class"], row["offset"], row["position"]) == ("bad-crc", 0, 0)


@pytest.mark.parametrize(
    "words",
    ["--against x.txt", "--partitioner default-0.9", "--engine spark"],
)
def test_verify_of_a_broker_refuses_what_it_cannot_do(kafka: CommandLine, words: str):
    run = kafka("verify", *words.split())
    assert run.code == 2
    assert "is a Kafka broker's: " in run.err


def test_verify_since_last_trusts_segments_that_are_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    writer = partition_of_all_kinds(tmp_path / "kafka")
    kafka = CommandLine(writer.log_dir)
    before = tree_of(writer.log_dir)

    def trusted_until() -> int | None:
        run = kafka("verify", "--since-last", "--json")
        assert run.document["verdict"] == "ok", run.out
        until: int | None = run.document["partitions"][0]["trusted_until"]
        return until

    first = kafka.ok("verify", "--json").document["partitions"][0]
    assert trusted_until() is None
    assert trusted_until() == writer.base  # the last segment is read again
    assert tree_of(writer.log_dir) == before
    again = kafka.ok("verify", "--since-last", "--json").document["partitions"][0]
    assert {**again, "trusted_until": None} == first
    damaged = writer.batches[-1][0]
    flip_byte(damaged, 70, mask=1)
    assert kafka("verify", "--since-last").code == 1
    flip_byte(damaged, 70, mask=1)
    flip_byte(sorted(writer.directory.glob("*.log"))[0], 70, mask=1)
    run = kafka("verify", "--since-last")
    assert "bad-crc" in run.out
    assert "not on trust: 1 partition: no earlier `ok` is recorded, or a" in run.out


def test_verify_of_a_broker_without_the_topic_says_so(kafka: CommandLine):
    run = kafka("verify", "nothing")
    assert (run.code, "nothing" in run.err) == (2, True)


def test_verify_of_golden_batches_of_all_formats(tmp_path: Path):
    """Batches of Kafka's own client, in formats v0 to v2 and five codecs."""
    kafka = CommandLine(broker_directory(tmp_path / "kafka"))
    document = kafka("verify", "--full", "--json").document
    classes = {found["class"]: found["count"] for found in document["findings"]}
    assert not {*classes} & {"bad-crc", "bad-length", "bad-magic", "bad-record"}, classes


@pytest.mark.parametrize("seed", range(12))
def test_commands_of_findings_can_be_run(tmp_path: Path, seed: int):
    writer = partition_of_all_kinds(tmp_path / "kafka", rounds=20)
    damage(Random(seed), writer.directory, writer)
    kafka = CommandLine(writer.log_dir)
    document = kafka("verify", "--strict-index", "--json").document
    commands = [sample["command"] for one in document["findings"] for sample in one["samples"]]
    assert commands
    for command in commands[:5]:
        _, *arguments = shlex.split(command)
        run = kafka(*arguments)
        assert run.code in (0, 1), (command, run.err)


def test_full_verify_without_a_codec_says_what_was_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    kafka = CommandLine(broker_directory(tmp_path / "kafka"))
    unchecked = kafka("verify", "--full", "--json").document["unchecked"]
    asked = {one["why"] for one in unchecked if one["asked"] and one["what"] == "records"}
    needs = "needs pyarrow: pip install 'kminilog[bulk]'"
    assert {f"1 batch: codec {codec} {needs}" for codec in ("snappy", "lz4", "zstd")} <= asked
