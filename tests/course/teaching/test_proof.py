"""Every lab accepts the library's answers, and rejects each wrong answer with its own code.

And the proof sees a lab that does not: each fault is put into a copy of lab 1.
"""

import json
import shutil

import pytest
from click.testing import CliRunner

from kminilog.cli.lab.judging import PROGRAM
from kminilog.cli.main import main
from kminilog.course import catalogue, material
from kminilog.course.material import all_labs, lab_of
from kminilog.course.teaching.proof import flaws_of
from kminilog.course.teaching.starter import starter_of


def marked(lab):
    """A lab, as a parameter; with the marks of a test that starts a JVM if it does."""
    has_jobs = any(each.needs_spark for each in lab.exercises)
    marks = (pytest.mark.spark, pytest.mark.xdist_group("spark-cluster")) if has_jobs else ()
    return pytest.param(lab, id=lab.folder.name, marks=marks)


@pytest.mark.processes
@pytest.mark.parametrize("lab", [marked(lab) for lab in all_labs()])
def test_lab_accepts_the_library_and_rejects_its_wrong_answers(lab):
    assert [str(flaw) for flaw in flaws_of(lab, PROGRAM)] == []


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of exercises 1.1 and 1.2, which this process and others use."""
    labs = tmp_path / "labs"
    for name in ("01_message", "messages"):
        shutil.copytree(material.labs_folder() / name, labs / name)
    monkeypatch.setenv(material.LABS, str(labs))
    material._labs_in.cache_clear()
    catalogue._read.cache_clear()
    catalogue._texts_of.cache_clear()
    lab = labs / "01_message"
    text = (lab / "lab.toml").read_text()
    (lab / "lab.toml").write_text(text[: text.index("[[exercise]]\nnumber = 3\n")])
    for answer in [*lab.glob("wrong/*.py"), *lab.glob("right/*.py")]:
        if not answer.read_text().startswith(("# exercise: 1\n", "# exercise: 2\n")):
            answer.unlink()
    for name in ("header_ctypes.py", "checksum_by_table.py"):  # three of each are needed
        (lab / "right" / name).unlink()
    (lab / "starter.py").write_text(starter_of(lab_of(1)))
    yield lab
    material._labs_in.cache_clear()
    catalogue._read.cache_clear()
    catalogue._texts_of.cache_clear()


FAULTS = {
    "command that does not call it": (
        "lab.toml",
        'command = "produce orders lines.txt"',
        'command = "partition --key 21 --partitions 3"',
        "1.1: the library's answer is fail: it was never called by: kminilog partition ",
    ),
    "check that compares nothing": (
        "checks.py",
        "def exercise_1(compare: Comparer, header: Callable[..., Any]) -> None:\n",
        "def exercise_1(compare: Comparer, header: Callable[..., Any]) -> None:\n    return\n",
        "1.1: its check compares nothing",
    ),
    "check that gives what the text excludes": (
        "checks.py",
        "def exercise_2(",
        "def precondition_2(message: bytes) -> bool:\n    return False\n\n\ndef exercise_2(",
        "right/checksum_binascii.py: 1.2 is error: your checksum (lab 1.2, line ?) raised Excluded",
    ),
    "check that accepts a wrong answer": (
        "checks.py",
        "def exercise_2(compare: Comparer, checksum: Callable[..., Any]) -> None:\n",
        "def exercise_2(compare: Comparer, checksum: Callable[..., Any]) -> None:\n"
        "    return compare.equal('1', lambda: 1, 1)\n",
        "wrong/checksum_of_payload.py: 1.2 is pass, expected crc-payload",
    ),
    "check that rejects the library": (
        "checks.py",
        "        0xE97538BC,\n",
        "        0xE97538BD,\n",
        "1.2: the library's answer is fail: checksum(the 34 bytes): got 3916773564, expected ",
    ),
    "wrong answer with another code": (
        "wrong/header_little_endian.py",
        "# reason: little-endian",
        "# reason: size-includes-12",
        "wrong/header_little_endian.py: 1.1 is fail with little-endian: ",
    ),
    "wrong answer with an unknown code": (
        "wrong/header_little_endian.py",
        "# reason: little-endian",
        "# reason: nobody-knows",
        "wrong/header_little_endian.py: nobody-knows is in no catalogue",
    ),
    "wrong answer that breaks another exercise": (
        "wrong/header_little_endian.py",
        "# reason: little-endian\n",
        "# reason: little-endian\ndef checksum(message):\n    return 4\n\n\n",
        "wrong/header_little_endian.py: answers 1.2, too: checksum",
    ),
    "wrong answer that is long": (
        "wrong/header_little_endian.py",
        "# reason: little-endian\n",
        "# reason: little-endian\n" + "\n" * 40,
        "wrong/header_little_endian.py: has 47 lines, 40 at most",
    ),
    "right answer that fails": (
        "right/header_to_bytes.py",
        "4 + len(content)",
        "16 + len(content)",
        "right/header_to_bytes.py: 1.1 is fail with size-includes-12: header(0, 4 bytes): got ",
    ),
    "right answer that only the command rejects": (
        "right/header_to_bytes.py",
        "    data = ",
        "    assert len(content) != 17\n    data = ",
        "right/header_to_bytes.py: 1.1 is fail: your header raised AssertionError: ",
    ),
    "right answer that is long": (
        "right/header_to_bytes.py",
        "# exercise: 1\n",
        "# exercise: 1\n# differs: nothing\n" + "\n" * 40,
        "right/header_to_bytes.py: has 49 lines, 40 at most",
    ),
    "right answers that are few": (
        "right/header_to_bytes.py",
        "# exercise: 1\n",
        "# exercise: 2\n",
        "1.1: has 2 right answers, 3 at least",
    ),
    "right answer to no exercise": (
        "right/header_to_bytes.py",
        "# exercise: 1\n",
        "# exercise: 99\n",
        "right/header_to_bytes.py: there is no exercise 1.99",
    ),
    "starter that is not the library's": (
        "starter.py",
        "def header(offset: int",
        "def header(position: int",
        "1: starter.py is not what the library gives; make it anew",
    ),
    "starter that is an answer": (
        "starter.py",
        "    raise NotImplementedError\n\n\n# 1.2",
        "    return b''\n\n\n# 1.2",
        "1.1: the starter is fail, not todo",
    ),
    "hint too many": (
        "en/texts.toml",
        '    "Which two numbers',
        '    "One more.",\n    "Which two numbers',
        "1.1, en: needs 3 hints",
    ),
    "hint with a line of the solution": (
        "en/texts.toml",
        '    "Which two numbers',
        '    "return _OFFSET_AND_SIZE.pack(offset, 4 + len(content)) Which two numbers',
        "1.1, en: a hint contains a line of the solution: return _OFFSET_AND_SIZE",
    ),
    "README that leaves an exercise out": (
        "en/README.md",
        "1.2",
        "1.x",
        "1.2, en: README.md does not name it",
    ),
}


@pytest.mark.processes
@pytest.mark.parametrize(("name", "old", "new", "flaw"), FAULTS.values(), ids=FAULTS)
def test_fault_of_a_lab_is_a_flaw(copied, name, old, new, flaw):
    path = copied / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    material._labs_in.cache_clear()
    catalogue._texts_of.cache_clear()
    found = []
    for each in map(
        str, flaws_of(lab_of(1), PROGRAM)
    ):  # it runs what it needs for the next flaw, no more
        found.append(each)
        if each.startswith(flaw):
            return
    pytest.fail(f"not found: {flaw}; only {found}")


@pytest.mark.parametrize(
    ("name", "text", "second"),
    [
        ("wrong/empty.py", "", "# reason: …"),
        ("wrong/without_code.py", "# exercise: 1\n# reason:\n", "# reason: …"),
        ("right/without_number.py", "# exercise: 1.1\n# differs: much\n", "# differs: …"),
        ("right/as_a_wrong_one.py", "# exercise: 1\n# reason: much\n", "# differs: …"),
    ],
)
def test_sample_answer_without_its_two_lines_is_named(copied, name, text, second):
    (copied / name).write_text(text)
    done = CliRunner().invoke(main, ["course", "check"])
    wanted = f"kminilog: {copied / name}: begin with `# exercise: N` and `{second}`\n"
    assert (done.exit_code, done.stderr) == (2, wanted)


def test_exercise_to_implement_names_one_function(copied):
    toml = copied / "lab.toml"
    text = toml.read_text()
    symbol = 'symbol = "format.message.header"\n'
    for wrong in ("", "names = []\n", f'{symbol}names = ["header"]\n', 'names = ["a", "b"]\n'):
        toml.write_text(text.replace(symbol, wrong))
        material._labs_in.cache_clear()
        done = CliRunner().invoke(main, ["course", "check"])
        reason = "exercise 1: name one function, as symbol or in names"
        assert (done.exit_code, done.stderr) == (2, f"kminilog: {toml}: {reason}\n"), wrong


@pytest.mark.processes
def test_course_check_says_what_is_wrong_as_text_and_json(copied):
    right = CliRunner().invoke(main, ["course", "check"])
    assert (right.exit_code, right.stdout) == (0, "lab 1, The message: ok\n")
    texts = copied / "en" / "texts.toml"
    texts.write_text(texts.read_text().replace("hints = [", 'hints = ["One more.", ', 1))
    catalogue._texts_of.cache_clear()
    text = CliRunner().invoke(main, ["course", "check", "--lab", "1"])
    assert text.exit_code == 1
    assert text.stdout == "  1.1, en: needs 3 hints\nlab 1, The message: 1 flaw\n"
    found = CliRunner().invoke(main, ["course", "check", "--json"])
    assert found.exit_code == 1
    flaws = [{"where": "1.1, en", "what": "needs 3 hints"}]
    assert json.loads(found.stdout) == {"labs": [1], "flaws": flaws, "exposed": []}


def test_course_check_of_an_unknown_lab_could_not_be_done():
    done = CliRunner().invoke(main, ["course", "check", "--lab", "99"])
    assert done.exit_code == 2
    assert done.stderr.startswith("kminilog: there is no lab or exercise 99; ")
