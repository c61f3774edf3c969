"""`recover`: shown first, then done; damage only by force."""

import os
from typing import Any

import pytest

from kminilog.format.dialect import Dialect
from tests.cli.test_verify_commands import FAULTS, samples_of
from tests.support.cli.command_line import CommandLine, assert_refused
from tests.support.damage import cut_to, files_of, flip_byte, later_message, message_positions
from tests.support.verification.faults import Spot

FIELDS = {
    "topic",
    "partition",
    "dry_run",
    "log_end_offset",
    "cut",
    "damage",
    "side_files",
    "rebuilt_indexes",
    "removed_files",
    "stray_files",
    "warnings",
}
SEGMENTS = [f"{base_offset:020d}" for base_offset in (0, 5, 11, 16)]  # of `orders`


@pytest.fixture
def last_log(orders):
    """The `.log` of the last segment, with offsets 17 to 19 in 102 bytes."""
    return orders.log_dir / "orders-0" / f"{SEGMENTS[-1]}.log"


@pytest.fixture
def middle_log(orders):
    """The `.log` of the second segment, with offsets 6 to 11."""
    return orders.log_dir / "orders-0" / f"{SEGMENTS[1]}.log"


def test_recover_valid_partition_has_nothing_to_do(orders):
    before = files_of(orders.log_dir / "orders-0")
    recovered = orders.ok("recover", "orders-0", "--json").document
    assert set(recovered) >= FIELDS
    assert (recovered["topic"], recovered["partition"], recovered["dry_run"]) == (
        "orders",
        0,
        False,
    )
    assert (recovered["log_end_offset"], recovered["cut"], recovered["damage"]) == (20, None, None)
    assert files_of(orders.log_dir / "orders-0") == before
    assert orders.ok("recover", "orders-0").out.splitlines()[1] == "nothing to do"


def test_recover_torn_tail_is_cut_and_kept(orders, last_log):
    cut_to(last_log, 100)
    recovered = orders.ok("recover", "orders-0", "--json").document
    assert recovered["cut"] == {
        "segment": SEGMENTS[-1],
        "position": 68,
        "class": "torn-tail",
        "reason": "torn-tail: unfinished message: at least 34 bytes are needed, the end of the "
        "file comes after 32",
        "lost_bytes": 32,
        "lost_messages": 0,
        "lost_batches": 0,
    }
    assert (recovered["damage"], recovered["log_end_offset"]) == (None, 19)
    assert recovered["side_files"] == [f"{last_log}.68.cut"]
    assert last_log.stat().st_size == 68
    assert orders("produce", "orders", stdin=b"again\n").code == 0
    assert orders.ok("find", "orders-0", 19, "--json").document["message"]["value"] == "again"


@pytest.mark.parametrize("is_clean", [True, False])
def test_messages_of_another_format_are_never_cut_off(orders, last_log, tmp_path, is_clean):
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"again\n")
    later = b"".join(later_message(3, 20 + n, b"value") for n in range(3))
    last_log.write_bytes(last_log.read_bytes() + later)
    if not is_clean:
        (orders.log_dir / ".clean-shutdown").unlink()
    before = files_of(orders.log_dir / "orders-0")
    for writes in (["produce", "orders", lines], ["ingest", lines, "--topic", "orders"]):
        run = orders(*writes)
        assert run.code == 2
        assert "an unknown format; 2 whole messages after it" in run.err  # but the one there
    run = orders("recover", "orders-0", "--json")
    assert (run.code, run.document["damage"]["class"]) == (1, "bad-magic")
    damage = run.document["damage"]
    assert (damage["lost_messages"], damage["lost_batches"]) == (3, 0)
    assert "with 3 whole messages lost" in orders("recover", "orders-0").out
    assert orders("verify", "orders").code == 1
    assert files_of(orders.log_dir / "orders-0") == before


def test_recover_ignores_the_clean_shutdown_marker(orders, last_log):
    assert (orders.log_dir / ".clean-shutdown").exists()
    cut_to(last_log, 100)
    assert orders.ok("recover", "orders-0", "--json").document["cut"]


@pytest.mark.parametrize("is_clean", [True, False])
def test_recover_dry_run_changes_nothing(orders, last_log, is_clean):
    cut_to(last_log, 100)
    if not is_clean:
        (orders.log_dir / ".clean-shutdown").unlink()
    before = files_of(orders.log_dir / "orders-0")
    run = orders("recover", "orders-0", "--dry-run", "--json")
    assert (run.code, run.err) == (1, "")  # it would lose something
    planned = run.document
    assert (planned["dry_run"], planned["cut"]["position"]) == (True, 68)
    assert planned["side_files"] == []
    assert "would be cut" in orders("recover", "orders-0", "--dry-run").out
    assert files_of(orders.log_dir / "orders-0") == before


def test_recover_damage_is_described_and_left_alone(orders, middle_log):
    flip_byte(middle_log, 32 + 25, mask=1)
    before = files_of(orders.log_dir / "orders-0")
    run = orders("recover", "orders-0", "--json")
    assert run.code == 1
    damage = run.document["damage"]
    assert (damage["segment"], damage["position"]) == (SEGMENTS[1], 32)
    assert damage["reason"].startswith("bad-crc")
    assert damage["lost_messages"] == 4 + 5 + 3
    assert damage["lost_bytes"] == 196 - 32 + 170 + 102
    assert (run.document["log_end_offset"], run.document["cut"]) == (7, None)
    text = orders("recover", "orders-0")
    assert text.code == 1
    assert "12 whole messages lost" in text.out
    assert "nothing was changed; --force cuts" in text.out
    assert files_of(orders.log_dir / "orders-0") == before


def test_recover_dry_run_with_force_says_what_would_be_lost(orders, middle_log):
    flip_byte(middle_log, 32 + 25, mask=1)
    before = files_of(orders.log_dir / "orders-0")
    run = orders("recover", "orders-0", "--dry-run", "--force")
    assert run.code == 1
    assert "would be cut: 436 bytes with 12 whole messages lost" in run.out
    assert files_of(orders.log_dir / "orders-0") == before


def test_recover_force_says_what_is_lost_and_cuts_there(orders, middle_log):
    flip_byte(middle_log, 32 + 25, mask=1)
    run = orders("recover", "orders-0", "--force", "--json")
    assert run.code == 0
    place = f"orders-0/{middle_log.name}, offset 7, byte 32"
    assert run.err.startswith(f"kminilog: --force cuts {place}: bad-crc: crc is ")
    assert "12 whole messages lost" in run.err
    assert len(run.document["side_files"]) == 3
    assert all(os.path.exists(path) for path in run.document["side_files"])
    assert orders("produce", "orders", stdin=b"next\n").code == 0
    assert orders.ok("find", "orders-0", 7, "--json").document["message"]["value"] == "next"


@pytest.mark.parametrize("dialect", ["documented", "kafka"])
def test_all_commands_say_the_same_of_one_flipped_bit(kminilog, dialect, tmp_path):
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", dialect)
    kminilog.ok("produce", "t", stdin=b"".join(b"line %d\n" % number for number in range(16)))
    log = next((kminilog.log_dir / "t-0").glob("*.log"))
    flip_byte(log, message_positions(log.read_bytes())[2] - 1, mask=1)
    said = "readable up to offset 0, 14 valid messages after the damage"
    listed = kminilog("ls")
    assert listed.err == f"kminilog: t-0: {said}\n"
    assert "0..0            1 " in listed.out
    assert f"t-0: {said}\n" in kminilog("verify").out
    (row,) = kminilog("verify", "--json").document["partitions"]
    assert (row["readable_until"], row["valid_after_damage"], row["message_count"]) == (1, 14, 15)
    assert kminilog("recover", "t-0").out.startswith(f"t-0: {said}\n")
    page = tmp_path / "page.html"
    kminilog.ok("ls", "--html", page)
    text = page.read_text()
    assert f"{said[0].upper()}{said[1:]}." in text
    assert "15 messages and 1 damaged place, " in text
    for untrue in ("lost its end", "16 messages", ">1 message"):
        assert untrue not in text


def test_page_says_that_a_log_has_lost_its_end_only_where_it_has(orders, last_log, tmp_path):
    page, whole = tmp_path / "page.html", last_log.read_bytes()
    flip_byte(last_log, len(whole) - 1, mask=1)
    orders("ls", "--html", page)
    said = "readable up to offset 18, no valid message after the damage"
    assert f"20, above the log end 19: {said}" in page.read_text()
    cut_to(last_log, message_positions(whole)[-2])
    orders("ls", "--html", page)
    assert "20, above the log end 19: the log has lost its end" in page.read_text()


def test_ls_of_a_damaged_segment_counts_those_after_it(orders, middle_log):
    flip_byte(middle_log, message_positions(middle_log.read_bytes())[-1] - 1, mask=1)
    said = "readable up to offset 10, 8 valid messages after the damage"
    assert orders("ls").err == f"kminilog: orders-0: {said}\n"
    assert orders.ok("ls", "--allow-gaps").err == ""


def test_recover_names_rebuilt_removed_and_stray_files(orders):
    directory = orders.log_dir / "orders-0"
    index = directory / f"{SEGMENTS[1]}.index"
    original = index.read_bytes()
    index.write_bytes(b"")
    deleted = directory / f"{0:020d}.log.deleted"
    deleted.write_bytes(b"")
    stray = directory / "notes.txt"
    stray.write_bytes(b"")
    recovered = orders.ok("recover", "orders-0", "--json").document
    assert recovered["rebuilt_indexes"] == [str(index)]
    assert recovered["removed_files"] == [str(deleted)]
    assert recovered["stray_files"] == [str(stray)]
    assert index.read_bytes() == original
    assert not deleted.exists()
    assert stray.exists()


def test_recover_log_below_the_recovery_point_is_a_warning(orders, last_log):
    cut_to(last_log, 68)
    recovered = orders.ok("recover", "orders-0", "--json").document
    lost = "lost-end: offset 19 was on the disk, the log ends before it"
    assert lost in recovered["warnings"][0]


def test_recover_bad_input_is_one_line(orders):
    rows = [
        ("orders", "write TOPIC-PARTITION"),
        ("orders-5", "[0, 0]"),
        ("nothing-0", "Topic nothing doesn't exist"),
    ]
    assert_refused(orders, orders.log_dir, rows, "recover")


# ---- `recover` says of each damage what `verify` says, then what is done; `--dry-run` answers


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
    if first["class"] == "index-sparse" and dialect.is_kafkas:
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


def test_valid_partition_and_file_too_many_are_no_loss(topic):
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
