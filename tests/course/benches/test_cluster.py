"""The bench of a cluster answers as the command line does, whatever is played."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.cli.main import main
from kminilog.course.benches.cluster import ACKS, BENCH
from kminilog.explain.document import Document
from kminilog.format.dialect import DOCUMENTED
from kminilog.format.message import Message, scan
from tests.support.course.benches.played import act, assert_valid_or_one_line, played

pytestmark = pytest.mark.usefixtures("without_fsync")


def copies(document: Document) -> list[list[str]]:
    """Return the messages of each broker, as the picture has them."""
    assert document.final.picture is not None
    return [[bar.label for bar in lane.bars] for lane in document.final.picture.lanes]


def fates(document: Document) -> dict[Any, Any]:
    """Return for each message what its producer was told, and what became of it."""
    return {name: (told, fate) for name, _, told, fate in document.final.tables[0].rows}


class Commands:
    """A cluster of three brokers in a directory, on which the acts of a bench are carried out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sent = 0
        self.run("cluster", "create", str(path), "--brokers", "3")
        topic = ["topic", "create", "orders", "--partitions", "1", "--replicas", "3"]
        self.run("--cluster", str(path), *topic)

    def run(self, *words: str, stdin: bytes = b"") -> str:
        result = CliRunner().invoke(main, words, input=stdin)
        assert result.exit_code == 0, result.output
        return result.stdout

    def carry_out(self, name: str, word: str = "") -> None:
        if name == "send":
            words = ["--cluster", str(self.path), "produce", "orders", "--acks", word]
            self.run(*words, stdin=f"m{self.sent}\n".encode())
            self.sent += 1
        else:
            self.run("cluster", name, str(self.path), word)

    def describe(self) -> Any:
        return json.loads(self.run("cluster", "describe", str(self.path), "--json"))

    def copies(self) -> list[list[str]]:
        found = []
        for node in range(3):
            (log,) = self.path.glob(f"broker-{node}/orders-0/*.log")
            messages = [m for _, m in scan(DOCUMENTED, log.read_bytes()) if isinstance(m, Message)]
            found.append([(each.value or b"").decode() for each in messages])
        return found


@pytest.mark.parametrize(
    "acts",
    [
        "send -1;send 1;crash 0;send 1;start 0;send -1",
        "send 1;send 0;crash 1;send -1;crash 0;crash 2;start 2;send 1;start 0;start 1",
        "send 1;crash 2;crash 1;send 1;crash 0;start 1;start 0;send -1",
    ],
)
def test_cluster_bench_keeps_and_loses_what_the_command_line_does(tmp_path, acts):
    commands = Commands(tmp_path / "cluster")
    bench_acts = []
    for each in acts.split(";"):
        commands.carry_out(*each.split())
        bench_acts += [each, "copy"] if each.startswith("start") else [each]  # as the command does
        document = played(BENCH, *bench_acts)
        assert copies(document) == commands.copies(), bench_acts
        (partition,) = commands.describe()["topics"][0]["partitions"]
        values = document.final.values
        assert values["leader"] == partition["leader"], bench_acts
        assert values["in sync"] == ", ".join(map(str, partition["in_sync"])), bench_acts


def test_cluster_bench_loses_what_only_a_dead_leader_has():
    acts = ["send -1", "send 0", "send 1", "crash 0"]
    document = played(BENCH, *acts)
    assert fates(document) == {
        "m0": ("stored at 0", "committed"),
        "m1": ("nothing", "lost"),
        "m2": ("stored at 2", "lost"),
    }
    assert document.final.values["lost, told that it is stored"] == 1
    assert document.steps[-1].say.endswith("the producer was told that it is stored: m2.")
    assert copies(document) == [["m0", "m1", "m2"], ["m0"], ["m0"]]
    started = played(BENCH, *acts, "start 0")
    assert started.final.picture is not None
    assert [bar.style for bar in started.final.picture.lanes[0].bars] == ["value", "free", "free"]
    assert copies(played(BENCH, *acts, "start 0", "copy")) == [["m0"]] * 3


def test_cluster_bench_never_loses_what_is_acknowledged_with_acks_minus_1():
    acts = ["send -1", "crash 1", "send -1", "crash 0", "send -1", "start 0", "start 1", "copy"]
    document = played(BENCH, *acts, "crash 2")
    assert {fate for _, fate in fates(document).values()} == {"committed"}


def test_cluster_bench_says_that_a_broker_is_not_in_sync_though_it_has_more_than_its_leader():
    acts = ["send 1", "crash 0", "start 0"]
    lanes = played(BENCH, *acts).final.picture.lanes
    assert lanes[0].name == "broker 0, not in sync"
    assert [bar.label for bar in lanes[0].bars] == ["m0"]
    assert "It is not in sync now." in played(BENCH, *acts, "crash 0").steps[-1].say


def test_cluster_bench_waits_for_a_broker_that_was_in_sync():
    acts = ["send -1", "crash 1", "crash 2", "crash 0", "start 1", "send -1", "send 0"]
    document = played(BENCH, *acts)
    assert (document.final.values["leader"], document.final.values["high watermark"]) == (
        None,
        None,
    )
    assert fates(document)["m1"] == ("an error", "no leader")
    assert "may not lead" in played(BENCH, *acts[:5]).steps[-1].say
    assert played(BENCH, *acts, "start 0").final.values["leader"] == 0


@pytest.mark.parametrize(
    ("acts", "reason"),
    [
        ("send 2", "send: acks is 0, 1, -1, not '2'"),
        ("crash 3", "crash, broker: '3' is no number from 0 to 2"),
        ("crash 0;crash 0", "broker 0 is down"),
        ("start 0", "broker 0 is running"),
    ],
)
def test_cluster_bench_says_why_an_act_is_impossible(acts, reason):
    with pytest.raises(ValueError) as caught:
        played(BENCH, *acts.split(";"))
    assert str(caught.value) == reason


ACT = st.one_of(
    st.builds(act, st.just("send"), st.sampled_from(ACKS)),
    st.just("copy"),
    st.builds(act, st.sampled_from(["crash", "start"]), st.sampled_from("0123")),
)


@settings(max_examples=10)
@given(acts=st.lists(ACT, max_size=12), brokers=st.sampled_from("135"))
def test_cluster_bench_whatever_is_played_is_a_document_or_one_line(acts, brokers):
    given = {"brokers": brokers}
    possible: list[str] = []
    for each in acts:
        try:
            document = BENCH.answer(given, [*possible, each])
        except ValueError:
            assert_valid_or_one_line(BENCH, [*possible, each], given)
            continue
        possible.append(each)
        if document.final.tables and document.final.values["leader"] is not None:
            told = {name: acks for name, acks, *_ in document.final.tables[0].rows}
            for name, (answer, fate) in fates(document).items():
                if told[name] == -1 and answer.startswith("stored"):
                    assert fate != "lost", possible
    assert_valid_or_one_line(BENCH, possible, given)
