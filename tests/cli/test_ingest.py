"""`ingest` and `verify --against`: what is refused before Spark starts, and whole runs with it."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.clock import ManualClock
from kminilog.errors import SparkUnavailableError
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.writer import CLEAN_SHUTDOWN_FILE, LogDirWriter
from kminilog.storage.partition.cuts import truncate_log
from tests.support.cli.command_line import CommandLine, Run, assert_one_line, assert_refused
from tests.support.damage import files_of
from tests.support.spark import ON_SPARK

WRONG = [
    ("", "--topic"),
    ("--topic x/y", "illegal topic name"),
    ("--topic t --partitions 0", "not 0"),
    ("--topic t --plan fast", "'fast'"),
    ("--topic t --max-rejected -1", "-1"),
    ("--topic t --partitioner nope", "there is: default-0.8"),
    ("--topic t --partitioner no_such.Mine", "cannot import no_such"),
    ("--topic t --config segment.byte=9", "segment.bytes"),
    ("--topic t --format avro", "'avro'"),
    ("--topic t --job-id ''", "illegal job id"),
    ("--topic t --key a --key-regex b", "give --key or --key-regex"),
    ("--topic t --key-expr b", "--key-expr"),
    ("--topic t --key-regex '('", "--key-regex '('"),
    ("--topic t --no-header", "it needs --format csv"),
]


@pytest.mark.usefixtures("no_session")
def test_ingest_bad_input_is_one_line_before_spark_starts(kminilog, tmp_path):
    source = tmp_path / "source.txt"
    source.write_bytes(b"x\n")
    began_with = "pyspark" in sys.modules
    assert_refused(kminilog, tmp_path, WRONG, "ingest", str(source))
    assert ("pyspark" in sys.modules) == began_with


@pytest.mark.parametrize(
    ("source", "partitions", "part"),
    [("gone.txt", 1, "gone.txt: no such file"), ("source.txt", 2, "has partitions = 1, not 2")],
)
@pytest.mark.usefixtures("no_session")
def test_ingest_looks_at_source_and_topic_before_spark_starts(
    kminilog, tmp_path, source, partitions, part
):
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    (tmp_path / "source.txt").write_bytes(b"x\n")
    run = kminilog("ingest", tmp_path / source, "--topic", "t", "--partitions", partitions)
    assert_one_line(without_progress(run), 2, part)


@pytest.mark.usefixtures("no_session")
def test_ingest_waits_a_minute_for_another_writer_or_as_long_as_told_and_says_so(
    kminilog, tmp_path, monkeypatch
):
    monkeypatch.setattr("kminilog.jobs.ingest.job_writer.SystemClock", ManualClock)
    (tmp_path / "source.txt").write_bytes(b"x\n")
    holder = f"kminilog: log dir {kminilog.log_dir}: process {os.getpid()} is writing to it"
    only_one = "; only one writer at a time: wait until it has finished"
    with LogDirWriter.open(kminilog.log_dir, create=True):
        for options, first_lines, waited in (
            ([], [f"{holder}; waiting for at most 58.7 s more"], ", still after 60.0 s of waiting"),
            (["--lock-timeout", 500], [], ", still after 0.5 s of waiting"),
            (["--lock-timeout", 0], [], ""),
        ):
            options += ["--engine", "spark"]
            run = kminilog("ingest", tmp_path / "source.txt", "--topic", "t", *options)
            lines = without_progress(run).err.splitlines()
            assert (run.code, lines[:-1][:1]) == (2, first_lines)
            assert lines[-1] == f"{holder}{waited}{only_one}"
    assert not list(kminilog.log_dir.glob("t*"))


@pytest.mark.usefixtures("no_session")
def test_ingest_looks_at_the_log_dir_before_spark_starts(kminilog, tmp_path):
    kminilog.log_dir.write_bytes(b"a file")
    (tmp_path / "source.txt").write_bytes(b"x\n")
    run = kminilog("ingest", tmp_path / "source.txt", "--topic", "t")
    assert_one_line(without_progress(run), 2, f"{kminilog.log_dir}: ")


def test_ingest_without_source_is_one_line(kminilog):
    assert_one_line(kminilog("ingest", "--topic", "t"), 2, "SOURCE")


def without_progress(run: Run) -> Run:
    """The run without the lines that a slow machine makes it say meanwhile."""
    lines = run.err.splitlines(keepends=True)
    return run._replace(err="".join(line for line in lines if " … " not in line))


class WithEngine(CommandLine):
    """`kminilog` that names an engine where a command takes one."""

    def __init__(self, log_dir: Path, engine: str) -> None:
        super().__init__(log_dir)
        self.engine = engine

    def __call__(self, *arguments: str | Path | int, stdin: bytes = b"") -> Run:
        engine = ("--engine", self.engine) if arguments[0] in ("ingest", "verify") else ()
        return super().__call__(*arguments, *engine, stdin=stdin)


class TestWithEachEngine:
    @pytest.fixture(
        params=[
            "local",
            pytest.param("spark", marks=ON_SPARK),
        ]
    )
    def kminilog(self, request, tmp_path):
        if request.param == "spark":
            request.getfixturevalue("spark")
        return WithEngine(tmp_path / "log-dir", request.param)

    @pytest.mark.first
    def test_ingest_then_verify_accounts_for_every_record(self, kminilog, tmp_path, monkeypatch):
        source = tmp_path / "orders.txt"
        source.write_bytes(b"".join(b"k%d:\xff%d\n" % (n % 7, n) for n in range(300)))
        reading = ["--key-regex", "^([^:]*):"]
        target = ["--topic", "t", "--partitions", 3, "--job-id", "j1"]
        run = kminilog("ingest", source, *target, *reading, "--json")
        assert run.code == 0, run
        result = run.document
        assert (result["job_id"], result["topic"], result["rejected"]) == ("j1", "t", 0)
        assert (result["plan"], result["engine"]) == ("runs", kminilog.engine)
        assert result["seconds"] > 0
        assert sum(partition["count"] for partition in result["partitions"]) == 300
        fields = {"partition", "first_offset", "next_offset", "count", "bytes", "digest"}
        assert all(set(partition) >= fields for partition in result["partitions"])

        other = tmp_path / "other.txt"
        other.write_bytes(b"k1:other\n")
        with monkeypatch.context() as patch:  # Spark is not needed for what is done already
            patch.setattr("kminilog.jobs.spark.runtime.session.spark_session", None)
            again = kminilog("ingest", source, *target, *reading)
            refused = kminilog("ingest", other, *target, *reading)
        assert again.code == 0, again
        assert f"it was committed before, from {source}; nothing was written now" in again.out
        by_hand = tmp_path / "by-hand"
        shutil.copytree(kminilog.log_dir, by_hand)
        for path in by_hand.glob("t*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        anew = WithEngine(by_hand, kminilog.engine)("ingest", source, *target, *reading)
        assert (anew.code, "committed before" in anew.out) == (0, False), anew
        assert CommandLine(by_hand).ok("verify").out.splitlines()[-1].startswith("verdict: ok;")

        read, given = f"{source} (files: 1, 2290 bytes)", f"{other} (files: 1, 9 bytes)"
        assert_one_line(refused, 2, f"job j1: a job that read {read}, not {given}")

        source.write_bytes(source.read_bytes() + b"k1:new\n")
        verified = kminilog("verify", "t", "--against", source, *reading, "--json")
        assert (verified.code, verified.document["engine"]) == (1, kminilog.engine), verified
        assert verified.document["conservation"]["source"] == 301
        (finding,) = verified.document["findings"]
        assert (finding["class"], finding["count"]) == ("missing", 1)
        assert finding["samples"][0]["source"] == f"{source}, line 301"

    def test_ingest_never_replaces_the_manifest_of_another_job(self, kminilog, tmp_path):
        source = tmp_path / "source.txt"
        source.write_bytes(b"a\nb\n")
        job = ["ingest", source, "--topic", "t", "--job-id"]
        assert kminilog(*job, "j1").code == 0
        own = kminilog.log_dir / ".manifests" / "j1.json"
        renamed = own.rename(own.with_name("zz.json"))
        before = renamed.read_bytes()
        refused = without_progress(kminilog(*job, "zz"))
        told = f"job zz: {renamed} is the manifest of job j1; rename it to j1.json"
        assert (refused.code, refused.err) == (
            2,
            f"kminilog: {told}; the topic is unchanged\n",
        )
        assert renamed.read_bytes() == before
        assert "nothing was written now" in kminilog(*job, "j1").out
        renamed.rename(own)
        assert kminilog(*job, "zz").code == 0

    def test_ingest_of_a_committed_job_says_what_was_cut_off_since(self, kminilog, tmp_path):
        source = tmp_path / "source.txt"
        source.write_bytes(b"".join(b"%d\n" % n for n in range(1000)))
        job = ["ingest", source, "--topic", "t", "--job-id", "one"]
        committed = kminilog(*job, "--json").document
        assert kminilog(*job).code == 0
        with LogDirWriter.open(kminilog.log_dir) as writer:
            log = writer.log(TopicPartition("t", 0))
            truncate_log(log, 600)
            log.append([(None, b"another's")] * 10)
            truncate_log(log, 300)
        again = kminilog(*job, "--json")
        assert (again.code, without_progress(again).err.splitlines()) == (
            1,
            [
                f"kminilog: offsets {offsets} of t-0, which job one wrote, were cut off since "
                "(truncation); give another --job-id to load them again, with all of the source"
                for offsets in ("600 to 999", "300 to 599")
            ],
        )
        untimed = {"seconds": 0, "already_committed": True}
        assert again.document | untimed == committed | untimed
        assert "nothing was written now" in kminilog(*job).out
        assert kminilog(*job[:-1], "two").code == 0

    @pytest.mark.parametrize("is_clean", [True, False])
    def test_ingest_of_a_committed_job_says_what_was_lost_since(self, kminilog, tmp_path, is_clean):
        """Also if no writer has seen it before: the retry opens the partitions."""
        source = tmp_path / "source.txt"
        source.write_bytes(b"".join(b"%d\n" % n for n in range(100)))
        job = ["ingest", source, "--topic", "t", "--dialect", "kafka", "--job-id", "one"]
        assert kminilog(*job, "--config", "segment.bytes=1000").code == 0
        last = max((kminilog.log_dir / "t-0").glob("*.log"))
        last.unlink()
        last.with_suffix(".index").unlink()
        if not is_clean:
            (kminilog.log_dir / CLEAN_SHUTDOWN_FILE).unlink()
        lost = f"offsets {int(last.stem)} to 99 of t-0, which job one wrote, were cut off since"
        for _ in range(2):
            again = kminilog(*job)
            assert again.code == 1, again
            assert f"{lost} (lost); " in again.err

    @pytest.mark.parametrize("plan", ["sorted", "runs"])
    def test_ingest_with_options_of_bulk_jobs_does_as_they_say(self, kminilog, tmp_path, plan):
        source = tmp_path / "source.json"
        source.write_bytes(b"".join(b'{"n": %d}\n' % n for n in range(100)) + b"broken\n")
        options = ["--topic", "t", "--partitions", 2, "--format", "json", "--job-id", "j"]
        options += ["--partitioner", "random", "--seed", 5, "--plan", plan, "--max-rejected", 1]
        run = kminilog("ingest", source, *options)
        assert run.code == 0, run
        assert "100 messages into t, 1 rejected" in run.out
        one_run = kminilog.engine == "local" and plan == "sorted"
        told = "one run with the files of plan sorted" if one_run else f"plan {plan}"
        assert f"1 rejected, {told}, " in run.out
        (told,) = (kminilog.log_dir / ".quarantine" / "j.jsonl").read_text().splitlines()
        assert f'"file": "{source}", "line": 101' in told

    def test_ingest_with_progress_json_tells_each_step_in_tasks_bytes_and_seconds(
        self, kminilog, tmp_path
    ):
        source = tmp_path / "source"
        source.mkdir()
        for name in ("a", "b"):
            (source / f"{name}.txt").write_bytes(b"line\n" * 600_000)  # MB, to be told
        run = kminilog("ingest", source, "--topic", "t", "--progress", "json", "--json")
        assert run.code == 0, run
        reports = [json.loads(line) for line in run.err.splitlines() if line.startswith("{")]
        assert run.err.splitlines()[0].startswith("{")
        fields = ["title", "step", "tasks_done", "tasks", "bytes_done", "bytes", "seconds"]
        assert all(list(report) == [*fields, "seconds_left"] for report in reports)
        seconds = [report["seconds"] for report in reports]
        assert seconds == sorted(seconds)
        last = [report for report in reports if report["step"] == "reading"][-1]
        assert last["tasks_done"] == last["tasks"]
        assert last["bytes_done"] == last["bytes"] == 6_000_000
        assert last["seconds_left"] == 0
        assert any(report["step"] == "joining" and report["tasks_done"] for report in reports)
        assert reports[-1]["step"] == "publishing 1200000 messages"
        assert [reports[-1][name] for name in ("tasks", "bytes", "seconds_left")] == [None] * 3
        assert run.document["count"] == 1_200_000

    @pytest.mark.parametrize(
        ("content", "options", "part"),
        [
            (None, [], "source.csv"),
            (b"", [], "no records"),
            (b"a,b\n1,2\n", ["--format", "csv", "--key", "c"], "no column 'c'; there is: a, b"),
            (b"x" * 200 + b"\n", ["--config", "segment.bytes=100"], "segment.bytes"),
        ],
        ids=["missing", "empty", "no-column", "above-segment"],
    )
    def test_ingest_bad_source_is_one_line_and_changes_nothing(
        self, kminilog, tmp_path, content, options, part
    ):
        kminilog.ok("topic", "create", "other", "--partitions", 1)
        before = files_of(kminilog.log_dir)
        source = tmp_path / "source.csv"
        if content is not None:
            source.write_bytes(content)
        run = kminilog("ingest", source, "--topic", "t", *options)
        assert_one_line(without_progress(run), 2, part)
        assert files_of(kminilog.log_dir) == before


def small_source(tmp_path: Path) -> Path:
    path = tmp_path / "small.txt"
    path.write_bytes(b"a:1\nb:2\na:3\n")
    return path


@pytest.mark.usefixtures("no_session")
def test_small_source_starts_no_spark(kminilog, tmp_path):
    source, reading = small_source(tmp_path), ["--key-regex", "^(.)"]
    done = kminilog("ingest", source, "--topic", "t", "--partitions", 2, *reading, "--json")
    assert (done.code, done.document["engine"], done.document["count"]) == (0, "local", 3)
    found = kminilog("verify", "t", "--against", source, *reading, "--json").document
    assert (found["engine"], found["verdict"]) == ("local", "ok")
    assert found["scope"]["steps"] == ["sums"]
    full = kminilog("verify", "t", "--against", source, *reading, "--full", "--json").document
    assert (full["verdict"], full["scope"]["steps"]) == ("ok", ["account"])


@pytest.mark.parametrize(
    ("options", "starts"),
    [
        ([], False),
        (["--master", "local[2]"], True),
        (["--engine", "spark"], True),
    ],
)
@pytest.mark.parametrize("limit", [1000, 3])
def test_engine_is_chosen_by_bytes_and_master(
    kminilog, tmp_path, monkeypatch, options, starts, limit
):
    def started(master: str | None) -> None:
        raise SparkUnavailableError("it was asked for")

    monkeypatch.setattr("kminilog.jobs.spark.runtime.session.existing_session", lambda: None)
    monkeypatch.setattr("kminilog.jobs.spark.runtime.session.spark_session", started)
    monkeypatch.setattr("kminilog.cli.shared.engines.LOCAL_BYTES", limit)
    source = small_source(tmp_path)
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    for words in (["ingest", source, "--topic", "t"], ["verify", "t", "--against", source]):
        run = kminilog(*words, *options)
        if starts or limit == 3:
            said, _, error = run.err.partition("\n")
            assert said.endswith(" with Spark: starting Spark")
            assert_one_line(run._replace(err=error), 2, "it was asked for")
        else:
            assert run.code == 0


@pytest.mark.parametrize(
    ("file_format", "reading"),
    [
        ("text", ["--key-regex", "^(.)"]),
        ("csv", ["--key", "k", "--value", "v"]),
        ("json", ["--key", "k", "--value", "v"]),
        ("parquet", ["--key", "k", "--value", "v"]),
    ],
)
@pytest.mark.usefixtures("no_session")
def test_small_source_of_each_format_needs_no_engine_to_be_named(
    kminilog, tmp_path, file_format, reading
):
    source = tmp_path / f"small.{file_format}"
    table = pa.table({"k": ["a", "b"], "v": ["1", "2"]})
    if file_format == "parquet":
        pq.write_table(table, source)
    elif file_format == "json":
        source.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        source.write_text("k,v\na,1\nb,2\n")
    reading = ["--format", file_format, *reading]
    run = kminilog("ingest", source, "--topic", "t", *reading, "--json")
    assert (run.code, run.document["engine"]) == (0, "local")
    run = kminilog("verify", "t", "--against", source, *reading, "--json")
    assert (run.code, run.document["verdict"]) == (0, "ok")
    assert run.document["conservation"]["stored"] == (3 if file_format == "text" else 2)


@pytest.mark.parametrize("words", [["ingest", "small.txt", "--topic", "t"], ["verify"]])
def test_engine_that_cannot_do_it_is_one_line(kminilog, tmp_path, monkeypatch, words):
    source = small_source(tmp_path)
    monkeypatch.chdir(source.parent)
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    master = kminilog(*words, "--engine", "local", "--master", "local[2]")
    assert_one_line(master, 2, "--master is about Spark")


UNREADABLE: list[tuple[bytes, str, str]] = [
    (b"x\n", "--value 'upper(value)'", "no column 'upper(value)'; there is: value"),
    (b"k,v\na,b\n", "--format csv --value 'k || v'", "no column 'k || v'; there is: k, v"),
    (b'{"k":1}\n', "--format json --key v", "no line has a member 'v'"),
    (b"PAR1", "--format parquet", "cannot be read as Parquet: "),
    (b"Obj\x01", "", "it is Avro; read it with Spark, and give the DataFrame to `ingest`"),
    (b"ORC..ORC\x01", "--format csv", "it is ORC; read it with Spark"),
    (b"ARROW1\0\0", "--format json", "it is no text: unpack it, or write its records as text"),
    (b"SQLite format 3\0", "", "it is no text"),
    (b"%PDF-1.7", "", "it is no text"),
    (b"PK\x03\x04", "", "it is zip, which is not read; unpack it"),
]


def test_source_that_cannot_be_read_says_why(kminilog, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    rows = []
    for number, (content, options, why) in enumerate(UNREADABLE):
        Path(f"source-{number}").write_bytes(content)
        reading = f"--engine local {options}"
        rows.append((f"ingest source-{number} --topic t {reading}", why))
        rows.append((f"verify t --against source-{number} {reading}", why))

    def command(*words: str) -> Run:
        return without_progress(kminilog(*words))

    assert_refused(command, tmp_path, rows, without=(".job-staging",))  # an empty one stays


@pytest.mark.usefixtures("no_session")
def test_value_that_is_no_column_is_refused_before_spark_starts(kminilog, tmp_path):
    (tmp_path / "source.txt").write_bytes(b"x\n")
    run = kminilog("ingest", tmp_path / "source.txt", "--topic", "t", "--value", "valeu")
    assert_one_line(without_progress(run), 2, "no column 'valeu'; there is: value")


@pytest.mark.usefixtures("no_session")
def test_topic_gets_other_partitions_in_its_own_log_dir(kminilog, tmp_path):
    kminilog.ok("topic", "create", "orders", "--partitions", 2)
    lines = [b"k%d:%d" % (n % 5, n) if n % 3 else b"no key %d" % n for n in range(40)]
    kminilog.ok("produce", "orders", "--key-separator", ":", stdin=b"\n".join(lines))
    source = [f"{kminilog.log_dir}:orders", "--format", "kminilog"]
    run = kminilog("ingest", *source, "--topic", "wide", "--partitions", 5, "--json")
    assert (run.code, run.document["count"]) == (0, 40)
    found = kminilog("verify", "wide", "--against", *source, "--json").document
    assert (found["verdict"], found["conservation"]["source"]) == ("ok", 40)
    for words in (["ingest", *source, "--topic", "orders"],):
        assert_one_line(without_progress(kminilog(*words)), 2, "writes to this very topic")


@pytest.mark.usefixtures("no_session")
def test_lines_of_kcat_that_are_none_are_in_the_quarantine(kminilog, tmp_path):
    source = tmp_path / "orders.kcat"
    source.write_bytes(b'{"key":null,"payload":"\xff"}\n\nk1 v1\n{"key":"k","payload":""}\n')
    options = [source, "--format", "kcat"]
    ingest = ["ingest", *options, "--topic", "t"]
    reason = "orders.kcat, line 3: it is no line of kcat -J: Expecting value"
    assert_one_line(without_progress(kminilog(*ingest)), 2, reason)
    run = kminilog(*ingest, "--max-rejected", 1, "--job-id", "j", "--json")
    assert (run.code, run.document["count"], run.document["rejected"]) == (0, 2, 1)
    rejected = json.loads((kminilog.log_dir / ".quarantine" / "j.jsonl").read_text())
    assert (rejected["line"], rejected["position"]) == (3, 28)
    found = kminilog("verify", "t", "--against", *options, "--json").document
    assert (found["verdict"], found["conservation"]["rejected"]) == ("ok", 1)


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_source_without_records_is_an_error_or_a_job_without_messages(
    spark, kminilog, tmp_path, engine, dialect
):
    source = tmp_path / "empty.json"
    source.write_bytes(b"\n\n")
    reading = ["--format", "json", "--engine", engine, "--json"]
    ingest = ["ingest", source, *reading, "--topic", "t", "--partitions", 2, "--job-id", "j"]
    ingest += ["--dialect", dialect.name]
    verify = ["verify", "t", "--against", source, *reading]
    run = kminilog(*ingest)
    assert (run.code, run.document["can_be_tried_again"]) == (2, False)
    assert run.document["error"].endswith(
        "empty.json: it holds no records; --allow-empty allows that"
    )
    assert not list(kminilog.log_dir.glob("t*"))
    for already_committed in (False, True):
        run = kminilog(*ingest, "--allow-empty")
        assert (run.code, run.document["count"], run.document["partitions"]) == (0, 0, [])
        assert run.document["already_committed"] == already_committed
    assert kminilog("verify", "--json").code == 0
    run = kminilog(*verify)
    assert (run.code, run.document["can_be_tried_again"]) == (2, False)
    for job in ([], ["--job", "j"]):
        run = kminilog(*verify, *job, "--allow-empty")
        assert (run.code, run.document["verdict"]) == (0, "ok")
        assert run.document["conservation"]["source"] == 0
    kminilog.ok("produce", "t", stdin=b"more\n")
    run = kminilog(*verify, "--allow-empty")
    assert (run.code, run.document["conservation"]["extra"]) == (1, 1)


def test_allow_empty_needs_a_source(kminilog):
    assert_one_line(kminilog("verify", "--allow-empty"), 2, "give --against")


@pytest.mark.usefixtures("no_session")
def test_json_says_that_trying_again_can_help(kminilog, tmp_path):
    source = tmp_path / "t.txt"
    source.write_bytes(b"x\n")
    words = ["ingest", source, "--topic", "t", "--lock-timeout", 0, "--json"]
    with LogDirWriter.open(kminilog.log_dir, create=True):
        run = kminilog(*words)
    assert (run.code, run.document["can_be_tried_again"]) == (2, True)
    assert run.document["error"] in run.err
    assert kminilog(*words).code == 0


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_missing_records_are_loaded_as_a_job_of_their_own(
    spark, kminilog, tmp_path, engine, dialect
):
    source, findings = tmp_path / "orders.txt", tmp_path / "findings.jsonl"
    lines = [f"k{n % 3}:{n}\n" for n in range(30)]
    source.write_text("".join(lines[:10] + lines[20:]))
    reading = ["--key-regex", "^([^:]*):", "--engine", engine]
    ingest = ["ingest", source, *reading, "--topic", "t"]
    assert kminilog(*ingest, "--partitions", 2, "--dialect", dialect.name).code == 0
    source.write_text("".join(lines))
    verify = ["verify", "t", "--against", source, *reading, "--json"]
    found = kminilog(*verify, "--findings", findings).document
    assert (found["conservation"]["missing"], len(found["findings"])) == (10, 1)
    source.write_text("k0:new\n" + "".join(lines))
    run = without_progress(kminilog(*ingest, "--only", findings))
    assert_one_line(run, 2, f"{source}: no record begins at byte ")
    source.write_text("".join(lines))
    run = kminilog(*ingest, "--only", findings)
    assert run.code == 0
    assert "these records were missing; they stand at the end of their partitions" in run.out
    assert re.search(r"job only-\w{32}: 10 messages into t", run.out)
    found = kminilog(*verify).document
    assert (found["conservation"]["stored"], found["conservation"]["missing"]) == (30, 0)
    assert {one["class"] for one in found["findings"]} == {"key-order"}
    run = kminilog(*ingest, "--only", findings)
    assert (run.code, "nothing was written now" in run.out) == (0, True)


def test_file_that_is_no_findings_file_is_one_line(kminilog, tmp_path):
    (tmp_path / "t.txt").write_text("x\n")
    words = ["ingest", tmp_path / "t.txt", "--topic", "t", "--only"]
    assert_one_line(kminilog(*words, tmp_path / "gone.jsonl"), 2, "gone.jsonl' does not exist")
    run = without_progress(kminilog(*words, tmp_path / "t.txt"))
    assert_one_line(run, 2, "it is no file that `verify --findings` has written")
