"""One bad thing does not hide the rest; a bad name is refused before any work is done."""

import os
import shlex
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from tests.support.broker_files.partition_writer import PartitionWriter
from tests.support.cli.command_line import CommandLine, Run, assert_one_line, assert_refused
from tests.support.damage import files_of

END = ["--config", "consumer.timeout.ms=0"]


@pytest.fixture
def beside_broken(orders: CommandLine) -> CommandLine:
    """`orders`, and beside it a topic whose settings file is broken."""
    orders.ok("topic", "create", "broken", "--partitions", 1)
    (orders.log_dir / "broken.json").write_text('{"topic": "broken", "partitions": 0')
    return orders


@pytest.mark.parametrize(
    "command",
    [
        ["topic", "list"],
        ["ls"],
        ["retain", "--dry-run", "--now", "1"],
        ["consume", "--pattern", "o.*", *END],
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_broken_topic_is_named_and_the_others_are_shown(beside_broken, command, form):
    run = beside_broken(*command, *form)
    is_reading = command[0] == "consume"  # its pattern does not match the broken one
    assert run.code == (0 if is_reading else 2), run
    assert run.err.count("\n") == 1
    assert "broken.json holds no topic settings" in run.err
    assert "mend it or move it away" in run.err
    (beside_broken.log_dir / "broken.json").unlink()
    alone = beside_broken.ok(*command, *form)
    assert run.out == alone.out
    assert len(alone.out) > 10


@pytest.mark.parametrize("pattern", [".*", "orders|broken"])
@pytest.mark.parametrize("group", [[], ["--group", "g"], ["--group", "g", "--streams", 2]])
def test_pattern_that_matches_a_broken_topic_reads_the_others_and_ends_with_2(
    beside_broken, pattern, group
):
    run = beside_broken("consume", "--pattern", pattern, *group, *END)
    assert (run.code, run.err.count("\n"), len(run.out.splitlines())) == (2, 1, 20), run
    assert "broken.json holds no topic settings" in run.err


def test_html_of_a_log_dir_with_a_broken_topic_shows_the_others(beside_broken, tmp_path):
    run = beside_broken("ls", "--html", tmp_path / "page.html")
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "orders-0" in (tmp_path / "page.html").read_text()


def test_verify_checks_the_others_and_is_partial(beside_broken):
    run = beside_broken("verify", "--json")
    assert (run.code, run.err) == (2, "")
    assert run.document["verdict"] == "partial"
    assert [part["topic"] for part in run.document["partitions"]] == ["orders"]
    (asked,) = [one for one in run.document["unchecked"] if one["asked"]]
    assert "broken.json holds no topic settings" in asked["why"]
    assert "broken.json" in beside_broken("verify").out
    assert beside_broken("verify", "orders").code == 0


def test_other_topics_are_written_and_read_also_after_a_crash(beside_broken):
    def is_said(err: str) -> bool:
        return "broken.json holds no topic settings" in err

    assert beside_broken.ok("produce", "orders", stdin=b"next\n")
    (beside_broken.log_dir / ".clean-shutdown").unlink()
    for _ in range(2):  # it stays unclean: nobody has looked into the broken topic
        run = beside_broken("produce", "orders", stdin=b"after\n")
        assert (run.code, is_said(run.err)) == (0, True)
        assert not (beside_broken.log_dir / ".clean-shutdown").exists()
    group = ["consume", "orders", "--group", "g", *END]
    assert beside_broken.ok(*group).out.splitlines()[-1] == "after"
    assert beside_broken.ok("group", "describe", "g")
    assert beside_broken.ok("find", "orders-0", 20)
    assert_one_line(beside_broken("topic", "describe", "broken"), 2, "broken.json")
    assert_one_line(beside_broken("consume", "broken", *END), 2, "broken.json")


# ---- a directory that is no log dir


def test_verify_of_a_directory_that_is_no_log_dir_says_so(kminilog):
    kminilog.log_dir.mkdir()
    (kminilog.log_dir / "notes.txt").write_text("mine")
    for form in [], ["--json"]:
        run = kminilog("verify", *form)
        assert run.code == 2
        told = f"kminilog: {kminilog.log_dir} holds no topic, and no writer was ever here; name a"
        assert run.err.startswith(told)
        assert run.err.count("\n") == 1
        assert "partial" in run.out
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    kminilog.ok("topic", "delete", "t", "--yes")
    assert "\nverdict: ok;" in kminilog.ok("verify").out


# ---- a broken file of recovery points


@pytest.mark.parametrize(
    "command",
    [
        ["produce", "orders"],
        ["topic", "create", "x", "--partitions", 1],
        ["topic", "alter", "orders", "--partitions", 2],
        ["topic", "delete", "orders", "--yes"],
        ["retain"],
        ["recover", "orders-0"],
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_broken_recovery_points_are_named_and_each_writer_says_what_is_lost(orders, command):
    checkpoint = orders.log_dir / "recovery-point-offset-checkpoint"
    checkpoint.write_text("zzz")
    told = "recovery-point-offset-checkpoint: its first line is not 0, the version; put a copy"
    assert told in orders("verify").out
    run = orders(*command, stdin=b"x\n")
    assert run.code == 0
    assert "so losses of logs at their ends until now do not show" in run.err
    assert checkpoint.with_name(checkpoint.name + ".broken").read_text() == "zzz"
    assert "losses of logs" not in orders(*command, stdin=b"x\n").err


# ---- ingest beside broken files of others


@pytest.mark.usefixtures("no_session")
def test_ingest_goes_on_beside_a_broken_topic_and_a_broken_manifest(beside_broken, tmp_path):
    source = tmp_path / "lines.txt"
    source.write_bytes(b"a:1\nb:2\n")

    def ingest(*words: str) -> Run:
        run = beside_broken("ingest", source, *words)
        return run._replace(err="".join(x for x in run.err.splitlines(True) if " … " not in x))

    for topic in "orders", "new":
        assert ingest("--topic", topic)[::2] == (0, "")
    manifest = beside_broken.log_dir / ".manifests" / "other.json"
    manifest.write_text("{")
    assert ingest("--topic", "orders")[::2] == (0, "")  # a new id is in no manifest
    run = ingest("--topic", "orders", "--job-id", "mine")
    assert (run.code, run.err.count("\n")) == (0, 1), run
    assert "other.json holds no manifest" in run.err
    assert "; its name is not that of job " in run.err
    assert "nothing was written now" in ingest("--topic", "orders", "--job-id", "mine").out
    assert_one_line(ingest("--topic", "orders", "--job-id", "other"), 2, "other.json holds no man")
    manifest.unlink()
    assert_one_line(ingest("--topic", "broken"), 2, "broken.json holds no topic settings")


# ---- a partition that cannot be read


def remove(partition: Path) -> None:
    shutil.rmtree(partition)


def put_file(partition: Path) -> None:
    remove(partition)
    partition.write_text("")


def put_in_place_of_the_log(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def put(partition: Path) -> None:
        log = partition / f"{0:020d}.log"
        log.unlink()
        make(log)

    return put


BREAK = {
    "gone": remove,
    "a file": put_file,
    "a .log that is a directory": put_in_place_of_the_log(Path.mkdir),
    "a .log that is a FIFO": put_in_place_of_the_log(os.mkfifo),
    "a .log that leads nowhere": put_in_place_of_the_log(lambda log: log.symlink_to("nothing")),
}


@pytest.mark.parametrize("damage", BREAK.values(), ids=BREAK)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_partition_that_cannot_be_read_is_named_and_the_others_are_shown(orders, damage, form):
    orders.ok("topic", "create", "bad", "--partitions", 2, "--config", "retention.ms=1")
    orders.ok("produce", "bad", "--partition", 0, stdin=b"zero\n")
    orders.ok("produce", "bad", "--partition", 1, stdin=b"one\n")
    dry_run = ["retain", "--now", 10**15, "--dry-run"]
    commands: list[list[object]] = [
        ["ls"],
        ["topic", "describe", "bad"],
        ["consume", "--pattern", "bad|orders", "--until-end"],
        dry_run,
        [word for word in dry_run if word != "--dry-run"],
    ]
    before = {str(command): orders(*command, *form).out for command in commands[:-1]}
    orders.ok("produce", "bad", "--partition", 1, stdin=b"one\n")
    damage(orders.log_dir / "bad-0")
    for command in commands:
        run = orders(*command, *form)
        assert (run.code, run.err.count("\n")) == (2, 1), (command, run)
        assert str(orders.log_dir / "bad-0") in run.err, (command, run)
        assert "[Errno" not in run.err
        shown = run.out.replace(" ", "")
        assert ("bad-0" in shown, "value19" in shown) == (False, "consume" in command), run
        assert len(run.out) > 0.5 * len(before.get(str(command), "")), (command, run)
    assert not list((orders.log_dir / "bad-1").glob("*0.log")), "retention has deleted it"


def test_pattern_of_which_nothing_can_be_read_ends_at_once(orders):
    shutil.rmtree(orders.log_dir / "orders-0")
    assert_one_line(orders("consume", "--pattern", "o.*"), 2, "orders-0: no such partition")


def test_copy_that_cannot_be_read_hides_no_other(kminilog, tmp_path):
    cluster = tmp_path / "cluster"
    kminilog.ok("cluster", "create", cluster, "--brokers", 2)

    def act(*words: object) -> Run:
        texts = ["--cluster", str(cluster), *map(str, words)]
        result = CliRunner().invoke(main, texts)
        return Run(result.exit_code, result.stdout, result.stderr)

    act("topic", "create", "t", "--partitions", 1, "--replicas", 2)
    shutil.rmtree(cluster / "broker-0" / "t-0")
    shown = act("ls", "--json")
    assert (shown.code, shown.err.count("\n")) == (2, 1)
    assert [segment["broker"] for segment in shown.document] == [1]


# ---- a settings file that is gone


@pytest.fixture
def beside_orphans(beside_broken: CommandLine) -> CommandLine:
    """`broken`, and beside it the messages of `orders`, without their topic."""
    (beside_broken.log_dir / "broken.json").unlink()
    (beside_broken.log_dir / "orders.json").unlink()
    return beside_broken


@pytest.mark.parametrize("command", [["topic", "list"], ["ls"], ["ls", "--json"]], ids=" ".join)
def test_messages_of_no_topic_are_named(beside_orphans, command):
    run = beside_orphans(*command)
    assert (run.code, run.err.count("\n")) == (0, 1)
    assert "messages that belong to no topic are in orders-0; `kminilog verify` says" in run.err
    for number in range(1, 9):
        shutil.copytree(beside_orphans.log_dir / "orders-0", beside_orphans.log_dir / f"x-{number}")
    told = beside_orphans(*command).err
    assert "in orders-0, x-1, x-2, x-3, x-4 and 4 more; " in told


@pytest.mark.parametrize("command", [["topic", "list"], ["ls"], ["ls", "--json"]], ids=" ".join)
def test_directory_that_seems_to_be_no_log_dir_is_told(tmp_path, command):
    (tmp_path / "hosts").touch()
    run = CommandLine(tmp_path)(*command)
    told = f"kminilog: {tmp_path} holds no topic, and no writer was ever here; name a log dir\n"
    assert (run.code, run.err) == (0, told)
    used = CommandLine(tmp_path / "used")
    used.ok("topic", "create", "t", "--partitions", "1")
    used.ok("topic", "delete", "t", "--yes")
    assert used(*command).err == ""


@pytest.mark.parametrize("topics", [[], ["orders"]])
def test_verify_finds_messages_of_no_topic(beside_orphans, tmp_path, topics):
    page = tmp_path / "page.html"
    run = beside_orphans("verify", *topics, "--report", page)
    assert (run.code, run.err) == (1, "")
    assert "orphan-partition  error  1\n    orders-0: it holds messages, but orders" in run.out
    assert "Put the settings file of its topic back" in page.read_text()
    (found,) = beside_orphans("verify", *topics, "--json").document["findings"]
    program, *words = shlex.split(found["samples"][0]["command"])
    assert (program, words[-2:]) == ("kminilog", ["verify", "orders"])
    assert beside_orphans(*words).code == 1
    assert beside_orphans("verify", *topics, "--allow", "orphan-partition").code == 0
    told = beside_orphans("verify", "orders", "--against", page)
    assert_one_line(told, 2, "Topic orders doesn't exist")


def test_topic_is_not_created_over_messages_of_no_topic(beside_orphans):
    before = files_of(beside_orphans.log_dir)
    told = "orders-0 holds files but belongs to no topic; put the settings file of its topic back"
    for command in (
        ["topic", "create", "orders", "--partitions", 1],
        ["topic", "create", "orders", "--partitions", 1, "--if-not-exists"],
    ):
        assert_one_line(beside_orphans(*command), 2, told)
    after = files_of(beside_orphans.log_dir)
    for files in before, after:  # how often files were replaced
        files.pop(".changes", None)
    assert after == before


def test_broken_settings_file_says_what_moving_it_away_means(beside_broken):
    told = "away: without it there is no topic, and nobody reads its messages"
    assert told in beside_broken("topic", "list").err


# ---- names


def test_empty_log_dir_is_an_error_and_nothing_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kminilog = CommandLine(Path())
    kminilog.log_dir = ""  # type: ignore[assignment]
    for command in (["ls"], ["topic", "create", "t", "--partitions", 1], ["verify"]):
        assert_one_line(kminilog(*command), 2, "'--log-dir': the name is empty; name a directory")
    assert os.listdir(tmp_path) == []


def test_report_that_cannot_be_written_is_refused_before_the_work(orders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "directory").mkdir()
    for command, option in ("verify", "--report"), ("ls", "--html"):
        rows = [
            ("''", f"'{option}': ", "the name is empty"),
            ("directory", f"'{option}': ", "directory is a directory; name a file in it"),
            ("none/report.html", f"'{option}': ", "there is no directory"),
        ]
        assert_refused(orders, tmp_path, rows, command, option)


READERS = [
    "dump",
    "step record",
    "produce orders",
    "demo --input",
    "assign --strategy range --topic a=1 --member m --previous",
]
UNREADABLE = [
    ("''", "'' does not exist; name a"),
    ("none.log", "'none.log' does not exist; name a"),
    ("文件.log", "'文件.log' does not exist; name a"),
    ("directory", "directory is a directory; name a file in it"),
]


def test_file_that_cannot_be_read_is_named_with_what_to_do(orders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "directory").mkdir()
    rows = [
        (f"{command} {name}", "Invalid value for '", told, "--help`")
        for command in READERS
        for name, told in UNREADABLE
    ]
    assert_refused(orders, tmp_path, rows)


@pytest.mark.parametrize("command", [["dump"], ["step", "record"]], ids=" ".join)
def test_directory_of_a_partition_and_wrong_suffix_name_a_file_to_take(orders, tmp_path, command):
    partition = orders.log_dir / "orders-0"
    assert_one_line(orders(*command, partition), 2, f"like {partition}/{0:020d}.log")
    (tmp_path / "notes.txt").write_text("hello\n")
    told = "notes.txt is neither a .log nor an .index file; name the file of a segment, like"
    assert_one_line(orders(*command, tmp_path / "notes.txt"), 2, told)


# ---- unknown options and commands


UNKNOWN = [
    ("find orders-0 0 --expain", "--expain'. Did you mean '--explain'? See "),
    ("find --explan orders-0 0", "--explan'. Did you mean '--explain'? See "),
    ("find orders-0 0 -x", "No such option '-x'; see "),
    ("verify --agains x", "Did you mean '--against' or '--engine'? See "),
    ("dump --ofset 1 x.log", "Did you mean '--offset'? See "),
    ("topic create x --partition 1", "Did you mean '--partitions'? See "),
    ("--log-dri x ls", "Did you mean '--log-dir'? See `kminilog --help`"),
    ("step murmur2 --partition 3", "Did you mean '--partitions'? See "),
    ("topc list", "No such command 'topc'. Did you mean 'topic'? See `kminilog --help`"),
    ("topic lst", "Did you mean 'list'? See `kminilog topic --help`"),
    ("step murmr2", "Did you mean 'murmur2'? See `kminilog step --help`"),
    ("verify --against", "requires an argument; see `kminilog verify --help`"),
]


def test_unknown_option_or_command_says_what_may_be_meant(orders):
    assert_refused(orders, orders.log_dir.parent, UNKNOWN)


@pytest.mark.parametrize(
    "words", [["orders-0", "-1"], ["-1", "orders-0"], ["orders-0", "--", "-1"]]
)
def test_negative_offset_is_refused_for_what_it_is(orders, words):
    assert_one_line(orders("find", *words), 2, "-1 is no offset")


# ---- what to do


def test_log_dir_that_cannot_be_one_says_what_to_do(tmp_path):
    file, create = tmp_path / "file", ["topic", "create", "x", "--partitions", 1]
    file.write_text("mine")
    for command in create, ["ls"], ["verify"]:
        told = f"log dir {file}: a file, not a directory; name a directory with --log-dir\n"
        assert CommandLine(file)(*command).err == f"kminilog: {told}"
    for path, reason in (file / "log-dir", "Not a directory"), (Path("/proc/x"), "No such file"):
        told = f"log dir {path}: it cannot be made ({reason}"
        assert_one_line(
            CommandLine(path)(*create), 2, told, "; name another directory with --log-d"
        )


def test_partition_in_place_of_the_log_dir_or_the_topic_says_what_to_do(orders, tmp_path):
    brokers = PartitionWriter(tmp_path / "kafka", "views-0")
    brokers.append()
    for partition in orders.log_dir / "orders-0", brokers.directory:
        told = f"log dir {partition}: the directory of a partition; name the one above it"
        for command in ["ls"], ["verify"], ["consume", "orders", "--until-end"]:
            assert_one_line(CommandLine(partition)(*command), 2, told)
    told = "kafka has no topic views-0; that is a partition of the topic views"
    for command in ["ls"], ["verify"], ["consume"]:
        assert_one_line(CommandLine(brokers.log_dir)(*command, "views-0"), 2, told)


def test_partition_that_is_a_file_or_gone_says_what_to_do(orders):
    partition = orders.log_dir / "orders-0"
    shutil.move(partition, orders.log_dir / "kept")
    told = "orders-0: no such partition directory; put it back, or let `kminilog topic delete`"
    assert told in orders("ls").err
    told = " in it; put it back, or let `kminilog topic delete`"
    assert told in orders("verify").out
    partition.write_text("")
    told = f"{partition}: a file, not the directory of a partition; put that back"
    for command in ["ls"], ["topic", "list"], ["topic", "describe", "orders"]:
        assert orders(*command).err == f"kminilog: {told}\n"
    assert told in orders("verify").out


def test_dump_of_a_directory_names_a_segment_that_is_there_or_none(orders, tmp_path):
    first = f"like {orders.log_dir}/orders-0/{0:020d}.log; see"
    assert_one_line(orders("dump", orders.log_dir), 2, "is a directory; name a file in it, ", first)
    empty = tmp_path / "empty.log"
    empty.mkdir()
    (orders.log_dir / "orders-0" / f"{7:020d}.log").mkdir()
    for directory in empty, orders.log_dir / "orders-0" / f"{7:020d}.log":
        told = "is a directory; name a file in it; `kminilog ls` lists the segments"
        assert_one_line(orders("dump", directory), 2, told)


@pytest.mark.parametrize("command", [["ls"], ["verify"], ["topic", "describe"], ["consume"]])
def test_partition_in_place_of_a_topic_is_told_so(orders, command):
    told = (
        "Topic orders-0 doesn't exist",
        "; orders-0 is a partition of topic orders: name the topic",
    )
    assert_one_line(orders(*command, "orders-0"), 2, *told)
    assert "partition of" not in orders(*command, "other-0").err


def test_option_that_wants_a_whole_number_says_so(orders):
    assert_one_line(orders("demo", "--rows", "x"), 2, "'--rows': 'x' is no whole number; see")


# ---- something else than a file in the place of a segment: commands name it and do not wait


WAIT = ("--config", "consumer.timeout.ms=1")


def put_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def put_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def put_dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nothing")


@pytest.mark.parametrize("put", [put_fifo, put_directory, put_dangling_link])
@pytest.mark.parametrize("suffix", [".log", ".index"])
def test_commands_with_something_else_in_place_of_a_segment_name_it(orders, put, suffix):
    segments = LogDir(orders.log_dir).reader(TopicPartition("orders", 0)).segments()
    assert len(segments) > 3
    segment = segments[1]
    path = segment.log_path.with_suffix(suffix)
    put(path)
    commands: list[tuple[str, ...]] = [
        ("ls",),
        ("topic", "describe", "orders"),
        ("find", "orders-0", str(segment.first_offset)),
        ("consume", "orders", *WAIT),
        ("verify",),
        ("recover", "orders-0", "--dry-run"),
        ("recover", "orders-0"),
        ("dump", str(path)),
        ("dump", str(path), "--format", "kafka"),
    ]
    is_link = put is put_dangling_link
    for command in commands:
        if is_link and (suffix == ".index" or command[0] == "dump"):
            continue  # no index, so it is made anew; and no file to dump
        run = orders(*command)
        if suffix == ".index" and command[0] == "consume":
            assert run.code == 0  # which reads from the beginning, and so needs no index
            continue
        assert run.code == 2, (command, run)
        assert path.name in run.err + run.out, (command, run)
        assert run.err.count("\n") <= 1, (command, run)
    assert not (path.parent / "nothing").exists()


def test_partition_with_a_fifo_is_closed_after_a_crash_and_the_others_are_open(orders):
    orders.ok("topic", "create", "other", "--partitions", 1)
    segment = LogDir(orders.log_dir).reader(TopicPartition("orders", 0)).segments()[-1]
    put_fifo(segment.log_path)
    (orders.log_dir / ".clean-shutdown").unlink()
    assert orders("produce", "other", stdin=b"line\n").code == 0
    run = orders("produce", "orders", stdin=b"line\n")
    assert run.code == 2
    assert f"{segment.log_path}" in run.err
    assert "a FIFO, not a regular file" in run.err


def test_fifo_named_like_a_topic_is_named(kminilog: CommandLine):
    kminilog.ok("topic", "create", "orders", "--partitions", 1)
    os.mkfifo(kminilog.log_dir / "mine.json")
    for command in (("topic", "list"), ("ls",), ("verify",), ("topic", "describe", "mine")):
        run = kminilog(*command)
        assert run.code == 2
        told = run.out if command == ("verify",) else run.err
        assert "mine.json: a FIFO, not a regular file; move it away" in told


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "--report"],
        ["ls", "--html"],
        ["assign", "--topic", "t=3", "--member", "a", "--previous"],
        ["demo", "--input"],
    ],
    ids=lambda words: words[0],
)
def test_fifo_in_place_of_a_file_is_refused_before_the_work(orders, tmp_path, words):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert_one_line(orders(*words, fifo), 2, f"{fifo} is a FIFO; name a regular file")


def test_produce_reads_a_fifo(orders, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = Thread(target=fifo.write_bytes, args=[b"one\ntwo\n"], daemon=True)
    writer.start()
    assert "2 messages" in orders.ok("produce", "orders", fifo).out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_produce_while_it_waits_for_the_writer_of_a_fifo(
    orders, monkeypatch, number, code
):
    def opens(*_: object, **__: object) -> None:
        signal.raise_signal(number)
        pytest.fail("it went on")

    monkeypatch.setattr("click.types.open_stream", opens)
    run = orders("produce", "orders", __file__)
    assert (run.code, run.out, run.err) == (code, "", "")
