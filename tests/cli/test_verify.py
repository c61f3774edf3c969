"""`verify` with the local engine: verdict, exit code, report; and what it refuses."""

import html
import json
import re
import shlex
import sys
import time
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

import kminilog
from kminilog.cli.verify import command as verify
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from tests.support.cli.command_line import assert_one_line, assert_refused
from tests.support.damage import files_of, fix_crc, flip_byte, message_positions

FIELDS = {"verdict", "engine", "seconds", "scope", "checked", "unchecked"}
FIELDS |= {"conservation", "partitions", "findings"}
SAMPLE = {"topic", "partition", "segment", "offset", "position", "source", "detail", "command"}
MIDDLE = f"{5:020d}.log"


def test_verify_valid_topic_is_ok(orders):
    report = orders.ok("verify", "orders", "--json").document
    assert set(report) >= FIELDS
    assert (report["verdict"], report["findings"], report["conservation"]) == ("ok", [], {})
    assert len(report["partitions"]) == 1
    assert orders.ok("verify").out.splitlines()[-1].startswith("verdict: ok; no findings in 1 ")


def test_verify_damage_is_a_finding_with_its_place(orders):
    flip_byte(orders.log_dir / "orders-0" / MIDDLE, 32 + 25, mask=1)
    run = orders("verify", "--json")
    assert (run.code, run.err) == (1, "")
    assert run.document["verdict"] == "findings"
    (finding,) = run.document["findings"]
    assert {name: finding[name] for name in ("class", "severity", "count")} == {
        "class": "bad-crc",
        "severity": "error",
        "count": 1,
    }
    (sample,) = finding["samples"]
    assert set(sample) >= SAMPLE
    assert (sample["topic"], sample["partition"], sample["position"]) == ("orders", 0, 32)
    assert sample["segment"] == MIDDLE.removesuffix(".log")


def test_verify_allow_makes_a_class_no_finding(orders):
    flip_byte(orders.log_dir / "orders-0" / MIDDLE, 32 + 25, mask=1)
    assert orders("verify", "--allow", "bad-crc").code == 0
    assert orders("verify", "--allow", "bad-magic").code == 1


def test_verify_offset_gap_is_a_finding_unless_allowed(kminilog):
    kminilog.ok("topic", "create", "foreign", "--partitions", 1, "--dialect", "kafka")
    messages = [encode(KAFKA, offset, None, b"v") for offset in (0, 1, 5, 6)]
    (kminilog.log_dir / "foreign-0" / f"{0:020d}.log").write_bytes(b"".join(messages))
    run = kminilog("verify", "foreign", "--json")
    assert (run.code, [found["class"] for found in run.document["findings"]]) == (1, ["offset-gap"])
    assert kminilog("verify", "foreign", "--allow", "offset-gap").code == 0


def test_verify_checks_only_the_topics_that_are_named(orders):
    orders.ok("topic", "create", "other", "--partitions", 1)
    flip_byte(orders.log_dir / "orders-0" / MIDDLE, 32 + 25, mask=1)
    assert orders("verify", "other").code == 0
    assert orders("verify", "other", "orders").code == 1


def test_verify_partitioner_finds_what_lies_in_the_wrong_partition(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 3)
    options = ["--key-separator", ":", "--partition", 0]
    kminilog.ok("produce", "t", *options, stdin=b"".join(b"k%d:v\n" % n for n in range(20)))
    told = kminilog.ok("verify", "t").out.replace("\n    ", " ").splitlines()
    unknown = "the partitioner of its keys is unknown"
    assert f"not checked: placement of t: {unknown}; give --partitioner NAME" in told
    run = kminilog("verify", "t", "--partitioner", "default-2.4", "--json")
    assert run.code == 1
    assert [finding["class"] for finding in run.document["findings"]] == ["wrong-partition"]


def test_verify_report_goes_to_a_file_as_json_text_or_page(orders, tmp_path):
    as_json, as_text = tmp_path / "report.json", tmp_path / "report.txt"
    printed = orders.ok("verify", "--report", as_json, "--json").document
    assert json.loads(as_json.read_text()) == printed
    out = orders.ok("verify", "--report", as_text).out
    assert as_text.read_text() == out
    orders.ok("verify", "--report", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    orders.ok("verify", "--report", tmp_path / "big.HTML")
    assert (tmp_path / "big.HTML").read_text().startswith(page[:15])
    orders.ok("verify", "--report", tmp_path / "big.Json")
    assert json.loads((tmp_path / "big.Json").read_text())["verdict"] == "ok"
    command = f"kminilog --log-dir {orders.log_dir} verify --report {tmp_path}/report.html"
    assert f"<dt>command</dt><dd>{command}</dd>" in page
    assert f"UTC, by kminilog {kminilog.__version__}</dd>" in page
    assert page.startswith("<!DOCTYPE html>")
    assert "What was checked is in order." in page


@pytest.fixture
def far_east(monkeypatch):
    """Local time is nine hours ahead of UTC."""
    monkeypatch.setenv("TZ", "UTC-9")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_verify_page_has_its_date_in_utc_and_its_command_as_a_shell_takes_it(
    orders, tmp_path, far_east
):
    file = tmp_path / "a page.html"
    before = datetime.now(UTC).replace(microsecond=0)
    orders.ok("verify", "--report", file)
    origin = r"<dt>made</dt><dd>(.*?), by .*\s*.*<dt>command</dt><dd>(.*?)</dd>"
    made, command = re.search(origin, file.read_text()).groups()
    date = datetime.strptime(made, "%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC)
    assert before <= date <= datetime.now(UTC)
    assert shlex.split(html.unescape(command))[-3:] == ["verify", "--report", str(file)]


def test_verify_report_that_cannot_be_written_is_printed_all_the_same(orders):
    printed = orders.ok("verify").out
    run = orders("verify", "--report", "/dev/full")
    assert run.out == printed
    assert_one_line(run._replace(out=""), 2, "/dev/full: No space left")


def test_verify_changes_nothing(orders):
    before = files_of(orders.log_dir)
    orders.ok("verify")
    assert files_of(orders.log_dir) == before


def test_verify_since_last_trusts_what_it_has_seen_before(orders):
    reports = [orders.ok("verify", "--since-last", "--json").document for _ in range(2)]
    assert [report["partitions"][0]["trusted_until"] for report in reports] == [None, 20]


WRONG = [
    ("nothing", "Topic nothing doesn't exist"),
    ("nothing --engine spark", "Topic nothing doesn't exist"),
    ("--engine local --against x.txt", "x.txt: no such file"),
    ("--engine flink", "'flink'"),
    ("--job j", "--against"),
    ("--key id", "give --against"),
    ("--format csv", "give --against"),
    ("--since-last --against x", "--since-last with --against needs --job"),
    ("--no-header", "give --against"),
    ("--report /no/such/directory/x.txt", "there is no directory /no/such/directory"),
    ("--allow bad-luck", "bad-luck"),
    ("--partitioner nope", "there is: default-2.4"),
    ("--against x --key a --key-regex b", "give --key or --key-regex"),
    ("--against x --key-regex '('", "--key-regex '('"),
    ("--against x", "x: no such file"),
]


@pytest.mark.usefixtures("no_session")
def test_verify_bad_input_is_one_line(orders):
    assert_refused(orders, orders.log_dir.parent, WRONG, "verify")


@pytest.mark.parametrize(
    ("arguments", "topics", "sources"),
    [
        (["t", "--against", "a"], ("t",), ("a",)),
        (["t", "u", "--against", "a", "b", "--json"], ("t", "u"), ("a", "b")),
        (["--against", "a", "--against", "b", "c", "--key", "k", "t"], ("t",), ("a", "b", "c")),
        (["--against=a", "t"], ("t",), ("a",)),
    ],
)
def test_verify_against_takes_all_words_up_to_the_next_option(arguments, topics, sources):
    context = verify.command.make_context("verify", arguments)
    assert (context.params["topics"], context.params["against"]) == (topics, sources)


def test_verify_with_spark_that_is_not_installed_says_so(orders, monkeypatch):
    monkeypatch.setattr("kminilog.jobs.spark.runtime.session.existing_session", lambda: None)
    for name in ("pyspark", "pyspark.sql", "py4j", "py4j.protocol"):
        monkeypatch.setitem(sys.modules, name, None)
    run = orders("verify", "--engine", "spark")
    starts, cannot = run.err.splitlines()
    assert (run.code, run.out) == (2, "")
    assert starts == "kminilog: Verifying with Spark: starting Spark"
    assert cannot.startswith("kminilog: Spark cannot run: ")
    assert cannot.endswith("; type: pip install 'kminilog[spark]'")


# ---- a page that counts and shows what is wrong


@pytest.fixture
def tampered(kminilog, tmp_path):
    """A topic whose first message has a late byte of its long value changed; and its source."""
    source = tmp_path / "lines.txt"
    source.write_text("".join(f"k{n}:{'v' * 300}{n} the end\n" for n in range(20)))
    words = ("--topic", "t", "--key-regex", "^([^:]*):", "--engine", "local")
    assert kminilog("ingest", source, *words).code == 0
    log = kminilog.log_dir / "t-0" / "00000000000000000000.log"
    end = message_positions(log.read_bytes())[1]
    flip_byte(log, end - 3, mask=1)
    fix_crc(log, 0)
    return kminilog, source, end - 3


def test_page_counts_findings_of_the_source_in_the_table_and_in_the_headline(tampered, tmp_path):
    kminilog, source, _ = tampered
    reading = ("--key-regex", "^([^:]*):")
    run = kminilog(
        "verify", "t", "--against", source, *reading, "--report", tmp_path / "a.html", "--json"
    )
    page, (partition,) = (tmp_path / "a.html").read_text(), run.document["partitions"]
    assert partition["finding_count"] == partition["segments"][0]["finding_count"] == 2
    total = sum(found["count"] for found in run.document["findings"])
    assert f"<p>{total} errors: {total} altered.</p>" in page
    assert "1 segment, 1 with findings" in page
    assert "The account of the source" in page
    assert "Every record accounted for" not in page


def test_page_of_a_complete_account_says_so(tampered, tmp_path):
    kminilog, source, position = tampered
    log = kminilog.log_dir / "t-0" / "00000000000000000000.log"
    flip_byte(log, position, mask=1)
    fix_crc(log, 0)
    page = tmp_path / "a.html"
    kminilog.ok("verify", "t", "--against", source, "--key-regex", "^([^:]*):", "--report", page)
    assert "Every record accounted for" in page.read_text()


def test_page_shows_the_bytes_of_an_altered_message_that_differ(tampered, tmp_path):
    kminilog, source, position = tampered
    page = tmp_path / "a.html"
    kminilog("verify", "t", "--against", source, "--key-regex", "^([^:]*):", "--report", page)
    shown = page.read_text()
    assert f"bytes {position - 16} to {position + 2}</h3>" in shown
    row = f'<td class="number">{position}</td><td></td><td><mark>64</mark> 6e 64</td><td>dnd</td>'
    assert row in shown


@pytest.mark.parametrize("at", [25, 90])
def test_page_marks_the_byte_that_the_checksum_names(kminilog, at, tmp_path):
    page = tmp_path / "a.html"
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    kminilog.ok("produce", "t", stdin=b"%0100d\n" % 7)
    log = next((kminilog.log_dir / "t-0").glob("*.log"))
    flip_byte(log, at, mask=4)
    kminilog("verify", "t", "--report", page)
    shown = page.read_text()
    assert f"if only one bit is wrong: byte {at}, 34 was 30" in shown
    assert shown.count("<mark>34</mark>") == 1
    assert f"bytes {0 if at < 64 else at - 16} to " in shown


# ---- files beside the report


def test_verify_findings_and_junit_write_files_and_the_exit_code_stays(orders, tmp_path):
    flip_byte(orders.log_dir / "orders-0" / MIDDLE, 32 + 25, mask=1)
    every, junit = tmp_path / "every.jsonl", tmp_path / "junit.xml"
    run = orders("verify", "orders", "--findings", every, "--junit", junit, "--json")
    assert (run.code, run.err) == (1, "")
    (row,) = map(json.loads, every.read_text().splitlines())
    (sample,) = run.document["findings"][0]["samples"]
    assert (row["class"], row["severity"]) == ("bad-crc", "error")
    names = ("topic", "partition", "segment", "offset", "position", "detail")
    assert {name: row[name] for name in names} == {name: sample[name] for name in names}
    (suite,) = ElementTree.fromstring(junit.read_bytes())
    assert (suite.get("name"), suite.get("failures")) == ("orders", "1")
    assert orders("verify", "--allow", "bad-crc", "--findings", every).code == 0
    assert len(every.read_text().splitlines()) == 1  # it says all, allowed or not


def test_verify_findings_needs_a_known_ending_and_no_log_dir(orders, tmp_path):
    run = orders("verify", "--findings", tmp_path / "every.csv")
    assert run.code == 2
    assert "its name must end in .jsonl or .parquet" in run.err
    run = orders("verify", "--findings", orders.log_dir / "every.jsonl")
    assert run.code == 2
    assert "in the log dir" in run.err
    assert not list(tmp_path.glob("every*"))


def test_verify_json_says_if_trying_again_can_help(orders):
    assert orders.ok("verify", "--json").document["can_be_tried_again"] is False
    flip_byte(orders.log_dir / "orders-0" / MIDDLE, 32 + 25, mask=1)
    assert orders("verify", "--json").document["can_be_tried_again"] is False
    (orders.log_dir / "recovery-point-offset-checkpoint").write_text("broken")
    document = orders("verify", "--allow", "bad-crc", "--json").document
    assert (document["verdict"], document["can_be_tried_again"]) == ("partial", False)
