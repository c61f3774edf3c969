"""`recover` says of each damage what `verify` says, then what is done; `--dry-run` answers."""

from typing import Any

import pytest

from kminilog.format.dialect import Dialect
from tests.cli.command_line import CommandLine
from tests.cli.test_verify_commands import FAULTS, samples_of
from tests.damage import cut_to, message_positions
from tests.verification.faults import Spot

IMPOSSIBLE = ("message: dropped", (3, 4), "documented")  # the last message of its segment
WARNINGS = {"index-position", "index-order", "index-past-end", "index-sparse", "orphan-file"}


@pytest.fixture
def topic(kminilog: CommandLine, dialect: Dialect) -> CommandLine:
    config = ["--config", "segment.bytes=300", "--config", "index.interval.bytes=60"]
    words = ["--partitions", 1, "--dialect", dialect.name, *config]
    kminilog.ok("topic", "create", "t-1", *words)
    lines = b"".join(b"key%d:value%d\n" % (number, number) for number in range(30))
    kminilog.ok("produce", "t-1", "--key-separator", ":", stdin=lines)
    return kminilog


def words(sample: dict[str, Any]) -> str:
    return f"{sample['place']}: {sample['class']}: {sample['detail']}"


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("spot", [(1, 2), (3, 4)])
def test_one_damage_has_the_same_words_in_both(topic, dialect, name, spot):
    is_possible = FAULTS[name](Spot(topic.log_dir / "t-1-0", *spot)) is not None
    assert is_possible != ((name, spot, dialect.name) == IMPOSSIBLE)
    if not is_possible:
        return
    samples = samples_of(topic("verify", "t-1", "--strict-index", "--json"))
    first = min(samples, key=lambda s: (s["segment"] or "", s["position"] or 0))
    run = topic("recover", "t-1-0", "--dry-run")
    assert run.err == ""
    if first["class"] == "index-sparse" and dialect.is_readable_by_kafka:
        assert (
            (run.code, run.out.splitlines()[1:])
            in (
                (0, ["nothing to do"]),  # a broker may have written this index
                (0, [words(first), *run.out.splitlines()[2:]]),
            )
        )
        return
    assert run.out.splitlines()[1] == words(first)
    assert run.code == (first["class"] not in WARNINGS)
    assert "are gone" not in run.out  # what stands after damage is not lost yet
    found = topic("recover", "t-1-0", "--dry-run", "--json").document
    place = found["cut"] or found["damage"]
    if run.code:
        assert (place["class"], f"{place['class']}: {first['detail']}") == (
            first["class"],
            place["reason"],
        )
    else:
        assert place is None


def test_end_that_is_lost_already_is_a_no_in_a_dry_run(topic):
    log = max((topic.log_dir / "t-1-0").glob("*.log"))
    cut_to(log, message_positions(log.read_bytes())[1])
    (lost,) = samples_of(topic("verify", "t-1", "--json"))
    assert lost["class"] == "lost-end"
    run = topic("recover", "t-1-0", "--dry-run")
    assert (run.code, run.err) == (1, "")
    assert run.out.splitlines()[1] == words(lost)
    assert topic("recover", "t-1-0").code == 0
    # It stays on record, when other messages have these offsets.
    assert topic("produce", "t-1", stdin=b"other\n" * 9).code == 0
    run = topic("recover", "t-1-0", "--dry-run")
    assert (run.code, "lost-end: offsets " in run.out) == (1, True)


def test_sound_partition_and_file_too_many_are_no_loss(topic):
    assert topic.ok("recover", "t-1-0", "--dry-run").out.splitlines()[1:] == ["nothing to do"]
    (topic.log_dir / "t-1-0" / "notes.txt").write_bytes(b"")
    run = topic.ok("recover", "t-1-0", "--dry-run")
    assert "notes.txt: not a file of a partition; move it away" in run.out
    index = topic.log_dir / "t-1-0" / f"{99:020d}.index"
    index.write_bytes(b"")
    (sample,) = samples_of(topic("verify", "t-1", "--json"))[:1]
    assert "`kminilog recover` removes it" in sample["detail"]
    assert topic.ok("recover", "t-1-0")
    assert not index.exists()
