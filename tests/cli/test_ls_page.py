"""`ls --html`: the page says what `ls`, `group describe` and `verify` say."""

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings

from kminilog.format.dialect import Dialect
from tests.support.cli.command_line import CommandLine, assert_one_line
from tests.support.cli.looked_at import (
    PLANS,
    Plan,
    lane_words,
    make,
    of_class,
    path_numbers,
    section,
    segment_rows,
    shown,
    tree,
)
from tests.support.damage import flip_byte, index_entries


@settings(max_examples=25)
@example(Plan())
@example(Plan(dialect="kafka"))
@example(Plan(committed=61, flip=None))
@given(plan=PLANS)
def test_page_has_the_values_of_the_other_commands(plan):
    with tempfile.TemporaryDirectory() as path:
        check_page(CommandLine(Path(path) / "log-dir"), plan)


def check_page(kminilog: CommandLine, plan: Plan) -> None:
    make(kminilog.log_dir, plan)
    listed = kminilog("ls", "--json").document
    page = look(kminilog)
    report = kminilog("verify", "--json").document
    group = kminilog.ok("group", "describe", "g", "--json").document
    points = (kminilog.log_dir / "recovery-point-offset-checkpoint").read_text().splitlines()[2:]
    for described in partitions(kminilog):
        name = f"{described['topic']}-{described['partition']}"
        part, words = section(page, name), lane_words(section(page, name))
        segments = [s for s in listed if f"{s['topic']}-{s['partition']}" == name]
        (checked,) = [p for p in report["partitions"] if f"{p['topic']}-{p['partition']}" == name]
        if checked["readable_until"] is not None:
            segments = [*map(as_verified, segments, checked["segments"])]
            described["log_end_offset"] = checked["log_end_offset"]
        assert segment_rows(part) == [expected_row(segment) for segment in segments]
        start, end = described["log_start_offset"], described["log_end_offset"]
        assert words["offsets"].startswith(f"log start {start}, log end {end}:")
        check_index(part, described, segments, kminilog.log_dir / name)
        known = [line.split()[2] for line in points if line.startswith(name.replace("-", " "))]
        assert words["recovery point"].startswith(known[0] if known else "not known")
        check_group(part, words, group, name, described)
        check_findings(part, words, report, name)


def look(kminilog: CommandLine, *words: str) -> Any:
    file = kminilog.log_dir.with_name("page.html")
    kminilog.ok("ls", *words, "--html", file)
    return tree(file.read_text())


def partitions(kminilog: CommandLine) -> list[dict[str, Any]]:
    return [
        {"topic": name, **partition}
        for name in ("t", "nothing")
        for partition in kminilog.ok("topic", "describe", name, "--json").document["partitions"]
    ]


def as_verified(listed: dict[str, Any], checked: dict[str, Any]) -> dict[str, Any]:
    """A segment of a damaged log: `verify` reads all of it, and `ls` only its end."""
    end = max(listed["next_offset"], (checked["last_offset"] or -1) + 1)
    return {**listed, "next_offset": end, "message_count": checked["message_count"]}


def expected_row(segment: dict[str, Any]) -> tuple[Any, ...]:
    first, following = segment["first_offset"], segment["next_offset"]
    offsets = f"{first}..{following - 1}" if following > first else "none"
    counts = (segment["message_count"], segment["log_bytes"], segment["index_entries"])
    return segment["name"], offsets, *counts


def at(described: dict[str, Any], offset: int) -> int:
    start, end = described["log_start_offset"], described["log_end_offset"]
    return round(10_000 * min(max((offset - start) / max(end - start, 1), 0), 1))


def check_index(part: Any, described: Any, segments: Any, directory: Path) -> None:
    offsets = [
        segment["base_offset"] + relative
        for segment in segments
        for relative, _ in index_entries((directory / f"{segment['name']}.index").read_bytes())
    ]
    assert path_numbers(part, "entry") == [at(described, offset) for offset in offsets]
    assert lane_words(part)["index entries"].split(",")[0] == str(len(offsets))


def check_group(part: Any, words: Any, group: Any, name: str, described: Any) -> None:
    (told,) = [p for p in group["partitions"] if f"{p['topic']}-{p['partition']}" == name] or [None]
    assert ("group g" in words) == bool(told)
    if told and told["above_log_end"]:
        above = f"committed {told['committed']}, above the log end {told['log_end_offset']}"
        assert words["group g"].startswith(above)
    elif told:
        assert words["group g"] == f"committed {told['committed']}, lag {told['lag']}"
        lag = [at(described, told["committed"])] if told["lag"] else []
        assert path_numbers(part, "lag") == lag


def check_findings(part: Any, words: Any, report: Any, name: str) -> None:
    (checked,) = [p for p in report["partitions"] if f"{p['topic']}-{p['partition']}" == name]
    assert words["findings of verify"].split(",")[0] == str(checked["finding_count"] or "none")
    samples = [
        (f"{found['class']}, {found['severity']}", sample)
        for found in report["findings"]
        for sample in found["samples"]
        if f"{sample['topic']}-{sample['partition']}" == name
    ]
    lists = part.findall("ol[@class='findings']/li")
    assert len(lists) == len(samples)
    for (kind, sample), one in zip(samples, lists, strict=True):
        assert shown(one).startswith(" ".join(f"{kind} {sample['place']}".split()))
        assert sample["detail"] in shown(one)
        assert shown(next(one.iter("pre"))) == sample["command"]
    marks = path_numbers(part, "error") + path_numbers(part, "warning")
    assert len(marks) == sum(sample["offset"] is not None for _, sample in samples)


def test_generated_log_dir_has_damage_lag_and_empty_logs(kminilog: CommandLine, dialect: Dialect):
    """So the comparison above compares something."""
    make(kminilog.log_dir, Plan(dialect=dialect.name))
    page = look(kminilog)
    words = lane_words(section(page, "t-0"))
    assert words["group g"] == "committed 20, lag 40"
    assert words["findings of verify"] == "1, see below"
    assert len(segment_rows(section(page, "t-0"))) > 3
    for empty in ("t-1", "nothing-0"):
        assert "The log is empty." in shown(section(page, empty))
    assert len(of_class(page, "partition")) == 3
    (topic,) = (one for one in of_class(page, "topic") if one.get("id") == "topic/t")
    settings = f"{dialect.name} dialect, segment.bytes 500, index.interval.bytes 100"
    assert shown(of_class(topic, "aside")[0]) == settings


def test_page_of_one_topic_has_no_other(kminilog: CommandLine):
    make(kminilog.log_dir, Plan())
    assert [one.get("id") for one in of_class(look(kminilog, "nothing"), "partition")] == [
        "nothing-0"
    ]


def test_page_leaves_what_ls_prints_as_json(kminilog: CommandLine, tmp_path: Path):
    make(kminilog.log_dir, Plan())
    both = kminilog.ok("ls", "--json", "--html", tmp_path / "page.html")
    assert both.document == kminilog.ok("ls", "--json").document
    told = kminilog.ok("ls", "--html", tmp_path / "page.html").out
    assert told == f"{tmp_path / 'page.html'}: 3 partitions, 1 finding\n"


def test_page_says_what_could_not_be_read(kminilog: CommandLine, tmp_path: Path):
    make(kminilog.log_dir, Plan())
    (kminilog.log_dir / ".groups" / "g.json").write_text("<b>no group")
    (kminilog.log_dir / "recovery-point-offset-checkpoint").write_text("rubbish")
    for file in (kminilog.log_dir / "t-1").iterdir():
        file.unlink()
    (kminilog.log_dir / "t-1").rmdir()
    file = tmp_path / "page.html"
    run = kminilog("ls", "--html", file)
    assert (run.code, run.out) == (2, f"{file}: 3 partitions, 2 findings\n")
    starts = [line.split(":")[1].strip() for line in run.err.splitlines()]
    assert starts == ["recovery points", "group g", f"log dir {kminilog.log_dir / 't-1'}"]
    page = tree(file.read_text())
    assert shown(section(page, "t-1")).startswith("Could not be read: ")
    assert "not read" in map(shown, of_class(page, "severity"))
    rest = " ".join(map(shown, of_class(page, "not-shown")))
    assert "group g: " in rest
    assert "recovery-point-offset-checkpoint" in rest
    assert "not known" in lane_words(section(page, "t-0"))["recovery point"]


def test_page_of_an_empty_log_dir(kminilog: CommandLine):
    kminilog.ok("topic", "create", "t", "--partitions", "1")
    kminilog.ok("topic", "delete", "t", "--yes")
    assert "There are none." in shown(look(kminilog))


def test_page_that_cannot_be_written_is_one_line(kminilog: CommandLine, tmp_path: Path):
    make(kminilog.log_dir, Plan())
    assert_one_line(kminilog("ls", "--html", tmp_path / "no" / "page.html"), 2, "page.html")


def test_group_above_the_log_end_is_said(kminilog: CommandLine):
    make(kminilog.log_dir, Plan(flip=None, committed=61))
    words = lane_words(section(look(kminilog), "t-0"))
    assert words["group g"] == "committed 61, above the log end 60: lag not known"


@pytest.mark.parametrize("count", [200, 201])
def test_index_entries_are_drawn_up_to_a_limit(kminilog: CommandLine, count: int):
    make(kminilog.log_dir, Plan(counts=(count + 1,), segment_bytes=10**6, interval_bytes=0))
    part = section(look(kminilog), "t-0")
    words = lane_words(part)["index entries"]
    assert words.startswith(f"{count}, one per 1 message")
    assert ("too many to draw" in words) == (count > 200)
    assert len(path_numbers(part, "entry")) == (count if count <= 200 else 0)


def summaries(page: Any, name: str) -> list[str]:
    """Return what stands above the bytes of each message of a segment: number, name, key."""
    (segment,) = (one for one in page.iter("div") if one.get("id") == name)
    found = [one for one in segment.iter("details") if one.get("class") == "message"]
    return [shown(one.findall("summary")[0]) for one in found]


def test_segment_shows_its_messages_as_dump_does(kminilog: CommandLine, dialect: Dialect):
    make(kminilog.log_dir, Plan(dialect=dialect.name, flip=None))
    for row in kminilog.ok("ls", "t", "--json").document:
        name = f"t-{row['partition']}/{row['name']}"
        dumped = kminilog.ok("dump", kminilog.log_dir / f"{name}.log", "--json").records
        expected = [
            f'offset {m["offset"]} "{m["key"]}" "{m["value"]}" '
            f"byte {m['position']}, {m['size'] + 12} bytes"
            for m in dumped
        ]
        told = summaries(look(kminilog), name)
        assert told[: len(expected)] == expected
        assert len(told) - len(expected) == bool(row["index_entries"])
        assert len(expected) == row["message_count"]


def test_damage_is_among_the_messages_with_its_bytes_and_in_the_picture(kminilog: CommandLine):
    make(kminilog.log_dir, Plan(flip=90))
    page = look(kminilog)
    name = f"t-0/{'0' * 20}"
    (damage,) = (one for one in summaries(page, name) if "bad-crc" in one)
    assert damage.startswith("bad-crc: crc is ")
    (segment,) = (one for one in page.iter("div") if one.get("id") == name)
    assert len(of_class(segment, "f-lost")) == 1
    (unfolded,) = (one for one in of_class(segment, "message") if one.get("open"))
    assert of_class(unfolded, "f-crc")
    headings = " ".join(map(shown, page.iter("summary")))
    assert re.search(r"\d+ messages and 1 damaged place\b", headings)
    (link,) = section(page, "t-0").findall("ol//a")
    assert link.get("href") == f"#{name}"


def test_message_that_is_not_shown_is_said_with_the_command_that_shows_it(kminilog: CommandLine):
    make(kminilog.log_dir, Plan(counts=(1000,), segment_bytes=10**6, flip=None))
    page = look(kminilog)
    told = shown(section(page, "t-0"))
    command = told[told.index("kminilog dump") :].split()
    rest = int(told.split(" more bytes: ")[0].split()[-1].replace(",", ""))
    path = kminilog.log_dir / f"t-0/{'0' * 20}.log"
    assert rest == path.stat().st_size - int(command[command.index("--at") + 1])
    first = kminilog.ok(*command[1:7]).out.splitlines()[0]
    shown_last = [one for one in summaries(page, f"t-0/{'0' * 20}") if one.startswith("offset")]
    assert first.startswith(f"offset {int(shown_last[-1].split()[1]) + 1}, ")


def test_links_of_the_page_lead_to_what_is_on_it(kminilog: CommandLine):
    make(kminilog.log_dir, Plan(flip=90))
    page = look(kminilog)
    ids = [one.get("id") for one in page.iter() if one.get("id")]
    assert len(ids) == len(set(ids))
    links = {
        a.get("href", "").removeprefix("#") for a in page.iter() if re.search(r"(^|})a$", a.tag)
    }
    assert len(links) > 5
    assert links <= set(ids)


@pytest.mark.parametrize(("at", "kind"), [(3000, "offset-disorder"), (3030, "bad-crc")])
def test_segment_is_shown_around_its_first_finding_and_before_other_segments(
    kminilog: CommandLine, at: int, kind: str
):
    make(kminilog.log_dir, Plan(counts=(20_000,), segment_bytes=4000, flip=None))
    logs = sorted((kminilog.log_dir / "t-0").glob("*.log"))
    damaged = logs[-2]
    flip_byte(damaged, at, mask=1)
    page = look(kminilog)
    assert shown(of_class(section(page, "t-0"), "place")[0]).startswith(kind)
    assert len(logs) > 100 > len(of_class(section(page, "t-0"), "segment"))
    (segment,) = (one for one in page.iter("div") if one.get("id") == f"t-0/{damaged.stem}")
    messages = of_class(of_class(segment, "messages")[0], "message")
    (found,) = (slot for slot, one in enumerate(messages) if one.get("open"))
    assert "byte 2993" in shown(messages[found])
    assert 0 < found < len(messages) - 1
    (bar,) = of_class(segment, "f-lost")
    assert "from 2993 to" in shown(bar)


def test_segment_with_an_error_is_red_and_one_with_warnings_alone_is_amber(
    kminilog: CommandLine,
):
    make(kminilog.log_dir, Plan(flip=90))
    first, second, *_ = sorted((kminilog.log_dir / "t-0").glob("*.index"))
    flip_byte(first, 7, mask=1)
    flip_byte(second, 7, mask=1)
    bars = of_class(section(look(kminilog), "t-0"), "shapes")[0].iter("path")
    kinds = [bar.get("class") for bar in bars]
    assert kinds[:3] == ["bar damaged", "bar doubtful", "bar"]
