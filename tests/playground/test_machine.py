"""The commands in a browser's Python, under Node: the same as on the machine, byte by byte."""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from base64 import b64decode
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.course.material import (
    RIGHT,
    WRONG,
    all_labs,
    answers_to,
    exercise_of,
    lab_of,
    labs_folder,
)
from kminilog.course.work_folder import WorkFolder
from tests.support.damage import flip_byte
from tests.support.playground.site import PROJECT, runtime

pytestmark = pytest.mark.xdist_group("machine")
LABS = [lab for lab in all_labs() if lab.number not in (9, 10)]  # these need arrays
STEPS = (
    "record",
    "docs-vs-bytes --key k --value größer",
    "null-or-empty --value x",
    "flip --value apple",
    "append-roll one two three --segment-bytes 60",
    "sparse-index",
    "torn-tail",
    "wire",
    "murmur2 --key straße --partitions 7",
    "murmur2 --key-hex 00ff",
    "range --topic orders=7 --member a --member b --joining d",
    "sticky --partitions 3 --seed 5",
    "journey",
)
SHELL = (
    ("topic create fruit --partitions 2 --config segment.bytes=90", ""),
    ("topic create nuts --partitions 1 --dialect kafka", ""),
    ("produce fruit --key-separator :", "a:apple\nb:banana\nc:cherry\nä:ährig\n:\nd:date\n"),
    ("produce nuts --key-separator : --null-value NULL --json", "a:NULL\nb:brazil\n"),
    ("ls", ""),
    ("find fruit-0 1 --explain", ""),
    ("find fruit-0 99", ""),
    ("consume fruit --until-end --print-key", ""),
    ("consume fruit --group g --until-end", ""),
    ("group describe g", ""),
    ("dump kminilog-data/nuts-0/00000000000000000000.log --hex", ""),
    ("dump kminilog-data/nuts-0/00000000000000000000.log --format kafka", ""),
    ("verify", ""),
    ("partition --partitioner default-2.4 --partitions 3 --key a --key b --seed 1 --explain", ""),
    ("assign --strategy sticky --topic a=5 --member x --member y --explain", ""),
    ("compact fruit", ""),
    ("recover fruit-0 --dry-run", ""),
    ("cluster demo", ""),
    ("group demo", ""),
    ("topic list", ""),
    ("no-such-command", ""),
)


def on_machine(line: str, given: str = "") -> tuple[int, str, str]:
    ran = CliRunner().invoke(main, shlex.split(line), input=given.encode())
    return ran.exit_code, ran.stdout, ran.stderr


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    """A directory of the same name as the worker's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KMINILOG_LOG_DIR", raising=False)


@pytest.mark.parametrize("line", STEPS)
def test_step_through_in_a_browsers_python_is_that_of_the_machine(host, line):
    ran = host.run("step", *shlex.split(line), "--json")
    assert (ran["code"], ran["stdout"], ran["stderr"]) == on_machine(f"step {line} --json")
    assert ran["code"] == 0


def test_commands_in_a_browsers_python_say_and_write_what_they_do_on_the_machine(clean, at_home):
    for line, given in SHELL:
        ran = clean.run(*shlex.split(line), given=given)
        assert (line, ran["code"], ran["stdout"], ran["stderr"]) == (line, *on_machine(line, given))
    mine = {str(path): path.stat().st_size for path in Path().rglob("*") if path.is_file()}
    theirs = {name: size for name, size, _ in clean.ask("files")}
    assert theirs.keys() ^ mine.keys() == {"kminilog-data/.groups/g.lock"}  # nobody else is there
    segments = [name for name in mine if name.endswith((".log", ".index"))]
    with zipfile.ZipFile(io.BytesIO(b64decode(clean.kept["zip"]))) as packed:
        assert {name: packed.read(name) for name in segments} == {
            name: Path(name).read_bytes() for name in segments
        }


def test_log_of_the_machine_is_decoded_with_its_damage(clean, at_home):
    for line, given in SHELL[:4]:
        on_machine(line, given)
    (path,) = Path("kminilog-data/nuts-0").glob("*.log")
    flip_byte(path, 20, value=0x55)
    clean.ask("write", path.name, path.read_bytes())
    for line in (f"dump {path.name} --dialect kafka", f"step record {path.name} --dialect kafka"):
        ran = clean.run(*shlex.split(line))
        shutil.copyfile(path, path.name)
        assert (ran["code"], ran["stdout"]) == on_machine(line)[:2]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.folder.name)
def test_lab_has_the_verdicts_of_the_machine_for_every_wrong_and_right_answer(clean, lab):
    """The proof of a lab: starter, library, wrong/ and right/; without those that need numpy."""
    clean.ask("write", "labs.zip", labs_without_numpy())
    ran = clean.run("course", "check", "--labs", "labs", "--lab", str(lab.number), "--json")
    flaws = [each for each in json.loads(ran["stdout"])["flaws"] if "at least" not in each["what"]]
    if lab.number == 7:  # the checks of two exercises need threads, and say so
        others = [each for each in flaws if each["where"] not in ("7.3", "7.4")]
        assert len(others) < len(flaws)
        flaws = [each for each in others if "this needs threads" not in each["what"]]
    assert flaws == []


def labs_without_numpy() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in labs_folder().rglob("*.*"):
            if path.is_file() and "import numpy" not in path.read_text(errors="replace"):
                archive.write(path, f"labs/{path.relative_to(labs_folder())}")
    return packed.getvalue()


def test_endless_loop_that_catches_everything_is_ended_and_the_next_check_goes_on(clean):
    answers = "def header(offset, content):\n    while True:\n        try:\n            pass\n"
    answers += "        except BaseException:\n            pass\n"
    first = clean.check(1, answers)
    assert (first[0]["status"], first[1]["status"]) == ("timeout", "error")
    assert "does not end" in first[0]["reason"]


@pytest.mark.soak
def test_endless_loop_of_long_calls_is_ended(clean):
    first = clean.check(1, "def header(offset, content):\n    while True: sum(range(2_000_000))\n")
    assert (first[0]["status"], first[1]["status"]) == ("timeout", "error")


MINE = """
from kminilog.partitioners.interface import Partitioner

class Mine(Partitioner):
    def partition(self, *values):
        return {}
"""
CHOOSE = "partition --partitioner mine:Mine --partitions 2 --key a"


def test_class_of_ones_own_is_read_again_after_a_change(clean):
    given = []
    for number in (0, 1):
        clean.ask("write", "mine.py", MINE.format(number) + "#" * number)
        ran = clean.run(*CHOOSE.split())
        given.append((ran["code"], ran["stdout"]))
    assert given[0][0] == given[1][0] == 0
    assert given[0] != given[1]
    assert [name for name, *_ in clean.ask("files")] == ["mine.py"]


@pytest.mark.parametrize(
    "body",
    [
        "import os; os._exit(0)",
        "import json; json.dumps = None",
        "import kminilog.format.message as room; room.decode = None",
        "raise SystemExit",
        "return header(offset, content)",
        "return bytes(12)",
        "print('seen'); raise MemoryError",
        "import sys; sys.stdin.close()",
        "import sys; sys.addaudithook(lambda event, _: 1 // (event != 'os.chdir'))",
    ],
)
def test_what_students_code_does_to_its_process_is_told_as_on_the_machine(clean, at_home, body):
    answers = f"def header(offset, content):\n    {body}\n"
    assert checked_in_browser(clean, 1, answers) == checked_on_machine(1, answers)
    assert clean.run("--version")["code"] == 0


ANSWERS = {
    f"{exercise} {kind}": (int(exercise[0]), answers_to(exercise_of(exercise), kind)[0])
    for exercise in ("2.3", "4.1", "6.4", "7.5", "8.3")
    for kind in (WRONG, RIGHT)
} | {"starter": (1, lab_of(1).folder / "starter.py")}


@pytest.mark.parametrize("lab, path", ANSWERS.values(), ids=ANSWERS.keys())
def test_check_says_what_lab_check_says_on_the_machine(clean, at_home, lab, path):
    answers = path.read_text()
    assert checked_in_browser(clean, lab, answers) == checked_on_machine(lab, answers)


def checked_in_browser(host, lab: int, answers: str) -> list[dict]:
    return [each | {"seconds": 0} for each in host.check(lab, answers)]


def checked_on_machine(lab: int, answers: str) -> list[dict]:
    """Return what `lab check` says of these answers, in a folder of their own."""
    folder = WorkFolder.start(lab_of(lab), Path(), "student")
    folder.answers_path.write_text(answers)
    _, stdout, _ = on_machine(f"lab check {lab} --json")
    return [each | {"seconds": 0} for each in json.loads(stdout)["exercises"]]


def test_command_in_a_command_ends_as_on_the_machine(clean, at_home):
    words = shlex.split("lab run 1 -- lab check 1.1")
    answers = "def header(offset, content):\n    return bytes(12)\n"
    folder = WorkFolder.start(lab_of(1), Path(), "student")
    folder.answers_path.write_text(answers)
    clean.run("lab", "start", "1", "--name", "student")
    clean.ask("write", "01_message/answers.py", answers)
    ran = clean.run(*words)
    mine = subprocess.run(
        [sys.executable, "-m", "kminilog", *words], capture_output=True, text=True
    )
    assert "1.1  fail" in mine.stdout
    told = mine.stdout.replace(str(Path.cwd()), "/home/student")
    assert (ran["code"], ran["stdout"]) == (mine.returncode, told)


@pytest.mark.parametrize(
    "line",
    [
        "demo",
        "ingest x.txt --topic t",
        "produce fruit --config linger.ms=5",
        "step buffer-pool",
        "verify --engine spark",
    ],
)
def test_what_a_browser_cannot_do_is_said_with_the_command_for_a_machine(clean, line):
    clean.ask("write", "x.txt", "a\n")
    clean.run("topic", "create", "fruit", "--partitions", "1")
    ran = clean.run(*line.split(), given="a\n")
    assert ran["code"] == 2
    assert f"on a machine, type: kminilog {line}" in ran["stderr"]


@pytest.mark.processes
def test_hidden_files_of_a_lecturers_labs_stay_at_home(tmp_path):
    labs = tmp_path / "labs"
    shutil.copytree(labs_folder(), labs)
    (labs / ".env").write_text("SECRET")
    words = [sys.executable, "-m", "kminilog", "playground", "--dir", str(tmp_path / "site")]
    variables = {**os.environ, "KMINILOG_LABS": str(labs)}
    subprocess.run([*words, "--runtime", str(runtime())], env=variables, check=True)
    with zipfile.ZipFile(tmp_path / "site" / "packages.zip") as packed:
        assert "kminilog/labs/01_message/starter.py" in packed.namelist()
        assert [name for name in packed.namelist() if "/." in name] == []


@pytest.mark.processes
def test_words_of_a_lecturers_own_are_in_the_playground(tmp_path):
    script = tmp_path / "own" / "en" / "torn_tail.md"
    script.parent.mkdir(parents=True)
    place = "kminilog/course/steps/scripts/en/torn_tail.md"
    script.write_text((PROJECT / place).read_text().replace("# What", "# My words: what", 1))
    words = [sys.executable, "-m", "kminilog", "playground", "--dir", str(tmp_path / "site")]
    variables = {**os.environ, "KMINILOG_SCRIPTS": str(tmp_path / "own")}
    words += ["--runtime", str(runtime())]
    subprocess.run(words, env=variables, check=True)
    with zipfile.ZipFile(tmp_path / "site" / "packages.zip") as packed:
        assert packed.read(place) == script.read_bytes()
        other = place.replace("torn_tail", "flip")
        assert packed.read(other) == (PROJECT / other).read_bytes()
    script.rename(script.with_name("torn-tail.md"))
    ran = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "its name is torn_tail.md" in ran.stderr


def test_zip_file_has_all_files_of_the_folder(site):
    files = {path for path in site.rglob("*") if path.is_file()}
    with zipfile.ZipFile(site.with_suffix(".zip")) as packed:
        found = {name: packed.read(name) for name in packed.namelist()}
    assert found == {path.relative_to(site).as_posix(): path.read_bytes() for path in files}


def test_files_of_another_tab_are_taken_over_and_what_both_changed_is_there_twice(clean):
    for name in ("same.py", "mine.py", "both.py"):
        clean.ask("write", name, "old")
    before = clean.ask("files")
    clean.ask("write", "both.py", "theirs")
    clean.ask("write", "new.py", "theirs")
    theirs = clean.kept["zip"]
    clean.ask("clear")
    for name, *_ in before:
        clean.ask("write", name, "old")
    assert clean.ask("adopt", theirs, before) is False
    clean.ask("write", "mine.py", "mine")
    clean.ask("write", "both.py", "mine")
    assert clean.ask("adopt", theirs, before) is True
    found = {name: clean.ask("read", name) for name, *_ in clean.ask("files")}
    assert found == {
        "both.other-tab-1.py": "theirs",
        "both.py": "mine",
        "mine.py": "mine",
        "new.py": "theirs",
        "same.py": "old",
    }


def test_file_that_is_no_text_is_shown_byte_by_byte(clean):
    clean.run("lab", "start", "1", "--name", "Ada")
    name = "01_message/files/piece.bin"  # exercise 1.6 reads its bytes off
    shown = clean.ask("shown", name)
    rows = re.findall(r"^(\d{8})  ((?:[0-9a-f]{2} ?)+) +\|(.*)\|$", shown, re.MULTILINE)
    assert [int(at) for at, *_ in rows] == list(range(0, 16 * len(rows), 16))
    data = bytes.fromhex("".join(row for _, row, _ in rows))
    assert [len(data), "message1" in "".join(text for *_, text in rows)] == [
        next(size for each, size, _ in clean.ask("files") if each == name),
        True,
    ]
    assert clean.ask("shown", "01_message/answers.py") == clean.ask("read", "01_message/answers.py")
    clean.ask("write", "emoji.txt", "a\tü 😀\r\n")
    assert clean.ask("shown", "emoji.txt") == "a\tü 😀\r\n"


@pytest.mark.processes
def test_folder_is_at_most_20_megabytes(site, capsys):
    sizes = {path.name: path.stat().st_size for path in site.rglob("*") if path.is_file()}
    with capsys.disabled():
        print(f"\nplayground: {sum(sizes.values()):,} bytes", sizes)
    assert sum(sizes.values()) <= 20_000_000
    assert os.path.getsize(site / "packages.zip") < 3_000_000
