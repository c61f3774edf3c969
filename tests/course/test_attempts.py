"""What an answer tries that no exercise needs is noted, even if its process ends; nothing else."""

from pathlib import Path

import pytest

from kminilog.course.judging.attempts import NETWORK, PROGRAM, READS, SIGNALS, WRITES, attempts_in
from kminilog.course.judging.checking import run_judge
from kminilog.course.material import RIGHT, all_labs, exercise_of, sample_answers
from kminilog.course.work_folder import WorkFolder
from tests.support.course.student import HEADER

pytestmark = pytest.mark.processes


def tried(tmp_path: Path, code: str) -> list[tuple[str, str]]:
    """Return what is noted of an answer that does this when it is called."""
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    source = tmp_path / "answers.py"
    text = HEADER.replace("    return", f"{lines}    return")
    assert text != HEADER
    source.write_text(text)
    return list(run_judge(exercise_of("1.1"), tmp_path, str(source), "kminilog").tried)


@pytest.mark.parametrize(
    ("code", "kind", "what"),
    [
        ("import subprocess; subprocess.run(['true', 'x'])", PROGRAM, "true x"),
        ("import os; os.system('true')", PROGRAM, "true"),
        ("import os; os.kill(os.getpid(), 0)", SIGNALS, "signal 0 to itself"),
        (
            "import socket\ntry: socket.create_connection(('127.0.0.1', 1), 1)\n"
            "except OSError: pass",
            NETWORK,
            "127.0.0.1:1",
        ),
        ("open('/etc/hosts').close()", READS, "/etc/hosts"),
        ("try: open('/nowhere/x', 'w')\nexcept OSError: pass", WRITES, "/nowhere/x"),
        ("import os\ntry: os.remove('/nowhere/x')\nexcept OSError: pass", WRITES, "/nowhere/x"),
        ("import shutil; shutil.rmtree('/nowhere', True)", WRITES, "/nowhere"),
        ("import os\nopen('/etc/hosts').close()\nos._exit(0)", READS, "/etc/hosts"),
        ("import os\nopen('/etc/hosts').close()\nos.abort()", READS, "/etc/hosts"),
    ],
)
def test_what_no_exercise_needs_is_noted(tmp_path, code, kind, what):
    first = tried(tmp_path, code)[0]
    assert first[0] == kind
    assert first[1].startswith(what)


@pytest.mark.parametrize(
    "code",
    [
        "open('x', 'w').close()",  # its own folder
        "import tempfile; tempfile.TemporaryFile().close()",
        "import json, numpy, zoneinfo, decimal",
        "open('\\0')",
        "import os; os.getpid()",
    ],
)
def test_what_an_answer_may_do_is_not_noted(tmp_path, code):
    assert tried(tmp_path, code) == []


def test_same_attempt_is_noted_once_and_at_most_twenty_are(tmp_path):
    assert len(tried(tmp_path, "for _ in range(9): open('/etc/hosts').close()")) == 1
    code = "for n in range(99):\n    try: open(f'/nowhere/{n}')\n    except OSError: pass"
    assert len(tried(tmp_path, code)) == 20


def test_notes_that_were_written_over_are_none(tmp_path):
    notes = tmp_path / "notes"
    for data in (b"\xff", b"[]", b"{}", b"1", b'["x", "y"]', b"[" * 9999):
        notes.write_bytes(data)
        assert attempts_in(notes) == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("lab", all_labs(), ids=lambda lab: lab.work_name)
def test_right_answers_of_the_course_try_nothing(tmp_path, lab):
    folder = WorkFolder.start(lab, tmp_path, "ada")
    for each in sample_answers(lab, RIGHT):
        exercise = exercise_of(f"{lab.number}.{each.number}")
        if not exercise.needs_spark:
            outcome = run_judge(exercise, folder.path, str(each.path), "kminilog")
            assert outcome.tried == (), each.path
