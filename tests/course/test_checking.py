"""Whatever a student writes: one sentence for it, and the other exercises are judged as well."""

import os
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kminilog.cli.lab.judging import PROGRAM
from kminilog.course.comparing import SENTENCE_CHARACTERS, as_text
from kminilog.course.judging import checking, sandbox
from kminilog.course.judging.checking import check, run_judge_of_all
from kminilog.course.judging.diagnosis import diagnosis_of
from kminilog.course.judging.limits import CPU_SECONDS
from kminilog.course.judging.outcome import ERROR, FAIL, PASS, TIMEOUT, TODO
from kminilog.course.judging.sandbox import ProcessResult, run_module
from kminilog.course.material import all_labs, checks_of, exercise_of, lab_of
from tests.support.course.student import CHECKSUM, HEADER, outcomes_of, sentence_of, start_lab, told
from tests.support.processes import Process
from tests.support.trees import tree_of


@pytest.fixture
def folder(tmp_path):
    return start_lab(tmp_path)


def header(*lines: str) -> str:
    """Return a file whose `header` has these lines, with the right return at its end."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"import os, sys\n{CHECKSUM}\ndef header(offset, content):\n{body}"


RIGHT_RETURN = "return offset.to_bytes(8, 'big') + (4 + len(content)).to_bytes(4, 'big')"
COMMAND_ONLY = "len(content) == 17"
"""True in the command, and never in the unit checks."""


@pytest.mark.processes
@pytest.mark.parametrize(
    ("lines", "status", "sentence"),
    [
        (["pass", "return None"], ERROR, "returned None, expected bytes"),
        (["while offset: pass", RIGHT_RETURN], TIMEOUT, "line 7) does not end, for header(1, "),
        (["try:", "  while True: pass", "except Exception: pass"], TIMEOUT, "end, for header("),
        (["sys.exit(0)"], ERROR, "calls sys.exit; return the result instead"),
        (["raise SystemExit('done')"], ERROR, "calls sys.exit"),
        (["os._exit(0)"], ERROR, "ended the whole process"),
        (["os.abort()"], ERROR, "ended the whole process"),
        (["os.kill(os.getpid(), 9)"], ERROR, "was killed by the system: out of memory?"),
        (["print('x' * 99)", "return b''.join(header(offset, content))"], ERROR, "RecursionError"),
        (["for _ in range(10**5): print('x' * 100)", RIGHT_RETURN], ERROR, "prints more than"),
        (["sys.stdout.buffer.write(bytes(10**7))", RIGHT_RETURN], ERROR, "prints more than"),
        (["return bytes(10**10)"], ERROR, "MemoryError"),
        (["found = []", "while True: found.append(bytes(10**6))"], ERROR, "MemoryError"),
        (["return header(offset, content)"], ERROR, "RecursionError"),
        (["return 1 / 0"], ERROR, "raised ZeroDivisionError: division by zero"),
        (["return object()"], ERROR, "returned object, expected bytes"),
        (["raise KeyboardInterrupt"], ERROR, "raised KeyboardInterrupt"),
    ],
)
def test_answer_that_misbehaves_gets_one_sentence_and_harms_no_other(
    folder, lines, status, sentence
):
    folder.answers_path.write_text(header(*lines))
    found = outcomes_of(folder)
    one = found.pop("1.1")
    said = sentence_of(one)
    assert (one.status, one.code) == (status, None)
    assert sentence in said
    assert said.startswith("your header (lab 1.1, line ")
    assert len(said) <= 2 * SENTENCE_CHARACTERS  # names are whole
    assert "\n" not in said
    # The answers.py of 1.2 is right, and 1.3 is not in the file.
    assert found["1.2"].status == PASS
    assert sentence_of(found["1.3"]).startswith("answers.py has no content; ")


@pytest.mark.processes
def test_answer_that_leaves_no_byte_of_memory_says_so(folder):
    answers = """\
kept = [None] * 10**6

def header(offset, content):
    global large
    large = []
    try:
        while True:
            large.append(bytes(10**6))
    except MemoryError:
        for number in range(10**6):
            kept[number] = object()
"""
    status, _, sentence = told(folder, "1.1", answers)
    assert (status, sentence) == (ERROR, "your header (lab 1.1, line 3) raised MemoryError")


@pytest.mark.processes
@pytest.mark.parametrize(
    "lines",
    [
        ["import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)", "while True: pass"],
        ["while True:", "  try: sum(range(99))", "  except BaseException: pass"],
    ],
    ids=["ignores the signal", "catches everything"],
)
def test_loop_that_goes_on_beyond_the_limit_of_computing_is_a_timeout(folder, lines):
    status, _, sentence = told(folder, "1.1", header(*lines))
    assert status == TIMEOUT
    assert sentence.endswith(" does not end")


@pytest.mark.processes
@pytest.mark.parametrize("when", ["True", COMMAND_ONLY], ids=["unit checks", "command"])
def test_answer_that_sleeps_is_a_timeout(folder, monkeypatch, when):
    monkeypatch.setattr(sandbox, "IDLE_SECONDS", 2)
    lines = f"if {when}: import time; time.sleep(10**6)", RIGHT_RETURN
    status, _, sentence = told(folder, "1.1", header(*lines))
    assert status == TIMEOUT
    assert "does not end" in sentence


SPAWNS = """
import os
action = os.POSIX_SPAWN_OPEN, 5, "pipe", os.O_RDONLY, 0
os.waitpid(os.posix_spawn("/bin/true", ["true"], {}, file_actions=[action]), 0)

class Slow:
    def partition(self, *given):
        return 0
"""


@pytest.mark.processes
def test_process_that_waits_in_the_kernel_as_for_the_disk_is_not_ended(tmp_path, monkeypatch):
    """Until what it spawns has opened a pipe, a process is in the state D, as one that reads."""
    monkeypatch.setattr(sandbox, "IDLE_SECONDS", 1)
    monkeypatch.setattr(sandbox, "_LOOK_SECONDS", 0.1)
    (tmp_path / "slow.py").write_text(SPAWNS)
    os.mkfifo(tmp_path / "pipe")
    opened = ["sh", "-c", "sleep 3; exec 5>pipe"]
    words = shlex.split("partition --partitioner slow:Slow --partitions 2 --key a")
    with Process(opened, cwd=tmp_path):
        ran = run_module("kminilog", *words, folder=tmp_path, cpu_seconds=CPU_SECONDS)
        assert (ran.code, ran.errors) == (0, "")


@pytest.mark.processes
@pytest.mark.parametrize("when", ["True", COMMAND_ONLY], ids=["unit checks", "command"])
def test_answer_for_which_the_machine_is_too_busy_is_no_timeout(folder, monkeypatch, when):
    monkeypatch.setattr(checking, "run_module", partial(run_module, wall_seconds=0))
    lines = f"if {when}: import time; time.sleep(10**6)", RIGHT_RETURN
    said = "the machine was too busy to check your header (lab 1.1): check again"
    assert told(folder, "1.1", header(*lines)) == (ERROR, None, said)


@pytest.mark.processes
def test_process_of_a_students_code_leaves_no_bytecode(folder, tmp_path, monkeypatch):
    """The limit of a file would cut it off; without a limit, a process leaves its bytecode."""
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "compiled"))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    folder.answers_path.write_text(HEADER)
    arguments = "1.1", str(folder.path), "RESULT", str(folder.answers_path)
    judge = "kminilog.course.judging.judge"
    run_module(judge, *arguments, folder=folder.path, cpu_seconds=CPU_SECONDS, needs_result=True)
    assert [*tmp_path.rglob("*.pyc")] == []
    run_module("kminilog", "step", "list", folder=folder.path)
    assert [*tmp_path.rglob("*.pyc")] != []


@pytest.mark.processes
def test_call_that_does_not_end_is_named_of_several_cases(tmp_path):
    answer = "def may_retry(attempts, retries, error):\n    while attempts < 2: pass\n"
    folder = start_lab(tmp_path, answer, 7)
    found = outcomes_of(folder, "7.7")["7.7"]
    assert (found.status, found.computed_seconds) == (TIMEOUT, CPU_SECONDS)
    assert "does not end, for may_retry(1, 3, Le" in sentence_of(found)


@pytest.mark.processes
def test_command_that_is_killed_says_so(folder):
    lines = f"if {COMMAND_ONLY}: os.kill(os.getpid(), 9)", RIGHT_RETURN
    status, _, sentence = told(folder, "1.1", header(*lines))
    assert status == ERROR
    assert sentence.startswith(
        "the system killed this command, which ran on your functions (out of memory?): kminilog "
    )


@pytest.mark.processes
def test_line_of_an_error_is_the_line_in_the_students_file(folder):
    folder.answers_path.write_text(HEADER.replace("return", "x = 1\n    y = [][x]\n    return"))
    assert "(lab 1.1, line 5) raised IndexError" in sentence_of(outcomes_of(folder)["1.1"])


@pytest.mark.processes
def test_thread_that_does_not_end_does_not_keep_the_check_waiting(folder, monkeypatch):
    codes = []

    def ran(*words: Any, **options: Any) -> ProcessResult:
        found = run_module(*words, **options)
        codes.append(found.code)
        return found

    monkeypatch.setattr("kminilog.course.judging.checking.run_module", ran)
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(10**6,)).start()\n"
    folder.answers_path.write_text(thread + HEADER)
    assert outcomes_of(folder, "1.1")["1.1"].status == PASS
    assert codes == [0, 0]  # of its function, and of the command


@pytest.mark.processes
def test_endless_loop_outside_of_functions_is_a_timeout_of_each_exercise(folder):
    folder.answers_path.write_text(
        folder.answers_path.read_text().replace("raise NotImplementedError", "return 1")
        + "\nDIAGNOSIS = ('bad-crc', '0' * 20, 3)\nwhile True: pass\n"
    )
    found = outcomes_of(folder, "1.1", "1.8")
    assert [each.status for each in found.values()] == [TIMEOUT, TIMEOUT]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("while True: pass", "line 1 of your answers.py does not end"),
        ("raise SystemExit", "line 1 of your answers.py calls sys.exit"),
        ("input()", "line 1 of your answers.py raised EOFError: EOF when reading a line"),
        ("print('x' * 10**7)", "line 1 of your answers.py prints more than 1,000,000 characters"),
        (
            "return",
            "line 1 of your answers.py raised SyntaxError: 'return' outside function "
            "(answers.py, line 1)",
        ),
        ("import os; os._exit(0)", "your answers.py ended the whole process"),
        ("import time; time.sleep(10**6)", "your answers.py does not end"),
    ],
)
def test_fault_outside_of_functions_is_one_of_the_file(folder, monkeypatch, line, sentence):
    monkeypatch.setattr(sandbox, "IDLE_SECONDS", 2)
    said = told(folder, "1.1", f"{line}\n{HEADER}")[2]
    # Who ends a process from outside does not know the line.
    assert said.startswith(f"{sentence}, before any function was called")


@pytest.mark.processes
@pytest.mark.parametrize(
    ("answers", "status", "code", "sentence"),
    [
        (
            HEADER.replace("pack(", "pack(("),
            ERROR,
            None,
            "answers.py, line 4: '(' was never closed",
        ),
        ("def decode(): pass\n", ERROR, None, "answers.py has no header; kminilog lab reset 1.1"),
        ("class header:\n    pass\n", ERROR, None, "TypeError: header() takes no arguments"),
        (
            "class header:\n    def __init__(self, *words): self.words = words\n",
            ERROR,
            None,
            "returned header, expected bytes",
        ),
        ("def header(offset):\n    return b''\n", ERROR, None, "takes 1 positional argument but 2"),
        ("def header(a, b):\n    yield b''\n", ERROR, None, "returned generator, expected bytes"),
        ("header = 4\n", ERROR, None, "TypeError: 'int' object is not callable"),
        (
            "import nowhere\n" + HEADER,
            ERROR,
            None,
            "ModuleNotFoundError: No module named 'nowhere'",
        ),
        (HEADER + "x: int = '\\d'\n", PASS, None, ""),
        ("\ufeff" + HEADER, PASS, None, ""),
        ("header = lambda offset, content: bytes(12)\n", FAIL, None, "got 00000000"),
    ],
)
def test_file_that_is_no_answer_is_named_in_one_sentence(folder, answers, status, code, sentence):
    found = told(folder, "1.1", answers)
    assert found[:2] == (status, code)
    assert sentence in found[2]
    assert len(found[2]) <= 2 * SENTENCE_CHARACTERS  # names are whole


@pytest.mark.parametrize(
    ("put", "sentence"),
    [
        (lambda path: path.mkdir(), "answers.py: a directory, not a regular file"),
        (lambda path: None, "answers.py is missing"),
        (
            lambda path: path.write_bytes(b"# ok\nx = '\xff'\n"),
            "answers.py, line 2: this is not UTF-8",
        ),
        (lambda path: path.write_bytes(b"x = 1\0\n"), "null bytes"),
        (lambda path: os.mkfifo(path), "answers.py: "),
        (lambda path: path.write_text("(" * 9000 + ")" * 9000), "answers.py"),
    ],
    ids=["directory", "missing", "latin-1", "nul", "fifo", "deep"],
)
def test_file_that_cannot_be_read_is_an_error_of_each_exercise(folder, put, sentence):
    folder.answers_path.unlink()
    put(folder.answers_path)
    found = outcomes_of(folder)
    assert {each.status for each in found.values() if each.exercise.is_graded} == {ERROR}
    assert found["1.7"].status == TODO
    said = sentence_of(found["1.1"])
    assert sentence in said
    assert "None" not in said
    assert len(said) <= SENTENCE_CHARACTERS


CALLS = HEADER.replace("return pack(", "return {call}(offset, content) or pack(")


@pytest.mark.processes
@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("from kminilog.format.message import header as h", "h"),
        ("from kminilog.format.message import *\nh = header", "h"),
        ("import kminilog.format.message as m", "m.header"),
        ("import kminilog.format.message", "kminilog.format.message.header"),
        ("import kminilog.format.message\nimport kminilog as k", "k.format.message.header"),
        ("from kminilog.format import message", "message.header"),
        ("from kminilog.format import message", "getattr(message, 'head' + 'er')"),
        ("from importlib import import_module as i", "i('kminilog.format.message').header"),
        ("import sys", "vars(sys.modules['kminilog.format.message'])['header']"),
    ],
)
def test_answer_that_takes_the_librarys_function_fails_by_whatever_way(folder, line, call):
    answers = f"{line}\n" + CALLS.format(call=call)
    status, code, sentence = told(folder, "1.1", answers)
    assert (status, code) == (FAIL, "imports-reference")
    by_file, by_command = " takes header from the library;", "calls the library's own header;"
    assert by_file in sentence or by_command in sentence
    assert "?" not in sentence


@pytest.mark.processes
def test_slip_where_an_error_is_expected_is_told_with_its_text_and_line(folder):
    right = (lab_of(1).folder / "right" / "content_match.py").read_text()
    answers = right.replace("import NullValueError", "import KMiniLogError")
    status, _, sentence = told(folder, "1.3", answers)
    assert status == ERROR
    assert "raised NameError: name 'NullValueError' is not defined" in sentence


@pytest.mark.processes
def test_answer_that_calls_itself_through_a_neighbour_fails_in_the_command(folder):
    answers = (
        "from kminilog.format.dialect import KAFKA\nfrom kminilog.format.message import encode\n"
    )
    answers += (
        "def header(offset, content):\n    return encode(KAFKA, offset, None, content[14:])[:12]\n"
    )
    status, code, _ = told(folder, "1.1", answers)
    assert (status, code) != (PASS, None)


@pytest.mark.processes
def test_method_that_calls_itself_is_the_students_own(tmp_path):
    answer = """
def add_to(self, slot, count, fingerprints):
    if slot not in self._rows:
        self._rows[slot] = [self.borders[slot], 0, 0]
        return self.add_to(slot, count, fingerprints)
    row = self._rows[slot]
    row[1] += count
    row[2] = (row[2] + fingerprints) % 2**64
"""
    assert told(start_lab(tmp_path, number=10), "10.2", answer)[0] == "pass"


@pytest.mark.processes
def test_method_that_calls_the_librarys_by_another_way_fails(tmp_path):
    answer = """
import sys
def add_to(self, *given):
    vars(sys.modules['kminilog.storage.publish.fingerprints'])['RangeSums'].add_to(self, *given)
"""
    assert told(start_lab(tmp_path, number=10), "10.2", answer)[0] == "fail"


@pytest.mark.processes
def test_answer_may_import_a_neighbour_and_what_stands_beside_it(folder):
    line = "from kminilog.format.message import encode, CRC_END\n"
    assert told(folder, "1.1", line + HEADER)[0] == PASS


@pytest.mark.parametrize("body", ["raise NotImplementedError", "pass", "...", "'''Only this.'''"])
def test_function_without_code_is_not_started(folder, body):
    answers = f"def header(offset, content):\n    '''The header.'''\n    {body}\n"
    assert told(folder, "1.1", answers) == (TODO, None, "")


def test_untouched_file_is_todo_everywhere(folder):
    assert {each.status for each in outcomes_of(folder).values()} == {TODO}


def test_constants_of_which_some_are_filled_in_name_one_that_is_not(folder):
    text = folder.answers_path.read_text()
    status, _, sentence = told(
        folder, "1.6", text.replace("SECOND_OFFSET = ...", "SECOND_OFFSET = 1")
    )
    assert status == ERROR
    assert "your SECOND_CRC (lab 1.6, line " in sentence
    assert sentence.endswith(" is still ...; fill it in")


@pytest.mark.processes
def test_constant_of_another_type_is_named_by_its_own_name(folder):
    answers = (
        "SECOND_OFFSET, SECOND_CRC = 369105, '34'\nTHIRD_POSITION: int = 2\nSECOND_KEY = b''\n"
    )
    status, _, sentence = told(folder, "1.6", answers)
    assert status == ERROR
    assert sentence == "your SECOND_CRC (lab 1.6, line 1) is of type str, expected int"


READ = [each.id for lab in all_labs() for each in lab.exercises if each.kind == "read"]


@pytest.mark.processes
@pytest.mark.parametrize("id", READ)
def test_read_exercise_never_says_what_is_right(tmp_path, id):
    exercise = exercise_of(id)
    folder = start_lab(tmp_path, number=exercise.lab)
    right = checks_of(folder.lab)[f"solve_{exercise.number}"](folder.path)
    for name, value in right.items():
        wrong = value[:-1] if isinstance(value, bytes | str | list | tuple) else value + 1000
        answers = {**right, name: wrong}
        text = "".join(f"{each} = {given!r}\n" for each, given in answers.items())
        status, _, sentence = told(folder, exercise.id, text)
        assert status == FAIL
        said = f"{name} = {as_text(wrong)} is wrong"
        assert sentence.startswith(said[:40])
        assert sentence.endswith(f"; look into {exercise.file}")
        unsaid = sentence.replace(as_text(wrong), "").removesuffix(exercise.file)
        assert as_text(value) not in unsaid


def test_each_lab_has_an_exercise_to_read():
    with_files = {lab.number for lab in all_labs()} - {9}  # what it reads is what its job writes
    assert {exercise_of(id).lab for id in READ} == with_files


@pytest.mark.processes
@pytest.mark.parametrize(
    "value", ["4", "('bad-crc', 3)", "['bad-crc', '0', 1]", "(b'x', {}, ())", "None"]
)
def test_diagnosis_of_another_form_is_an_error(folder, value):
    status, _, sentence = told(folder, "1.8", f"DIAGNOSIS = {value}\n")
    assert status == ERROR
    assert sentence == 'your DIAGNOSIS (lab 1.8) is no ("class", "segment", offset)'


@pytest.mark.processes
@pytest.mark.parametrize(
    ("lab", "id", "parts", "sentence"),
    [
        (1, "1.8", ("{1}.log", 0), "segment must be a text of 20 digits, not '{1}.log'"),
        (1, "1.8", (7, 0), "segment must be a text of 20 digits, not 7"),
        (1, "1.8", ("{1}", "12"), "offset must be a number without quotes, not '12'"),
        (8, "8.8", (3, "c1"), 'partition must be a text like "orders-3", not 3'),
        (8, "8.8", ("{1}", 1), "member must be a text, not 1"),
    ],
)
def test_diagnosis_with_a_part_of_another_form_says_which_one_is_wanted(
    tmp_path, lab, id, parts, sentence
):
    folder = start_lab(tmp_path, number=lab)
    right, _ = diagnosis_of(exercise_of(id), folder.path)
    given = [each.format(*right) if isinstance(each, str) else each for each in parts]
    status, code, said = told(folder, id, f"DIAGNOSIS = {(right[0], *given)!r}\n")
    assert (status, code) == (FAIL, None)
    assert said.endswith(sentence.format(*right))


@pytest.mark.processes
def test_error_says_in_which_call(folder):
    said = told(folder, "1.1", header("if not content: raise KeyError", RIGHT_RETURN))[2]
    assert "(lab 1.1, line 8) raised KeyError, for header(" in said


FETCH = """\
from kminilog.format.message import Message
def messages_from(segment, located, max_bytes, segment_after):
    return [{each} for position, message in segment.scan(located.position)][:1]
"""


@pytest.mark.processes
@pytest.mark.parametrize(
    ("each", "kind"), [("(position, message)", "tuple"), ("message.value", "bytes")]
)
def test_list_of_something_else_is_told_as_a_wrong_kind(tmp_path, each, kind):
    folder = start_lab(tmp_path, number=4)
    status, _, said = told(folder, "4.4", FETCH.format(each=each))
    assert status == ERROR
    assert said.endswith(f"returned {kind} in list, expected Message")


@pytest.mark.processes
@pytest.mark.parametrize(
    ("lab", "id", "answers"),
    [
        (1, "1.1", "from kminilog.format.message import header, encode\n" + HEADER),
        (
            1,
            "1.1",
            "import kminilog.format.message as m\n"
            + HEADER
            + "def other(): return m.header(1, b'')\n",
        ),
        (
            1,
            "1.1",
            HEADER
            + "def other():\n    from kminilog.format.message import header\n    header(1, b'')\n",
        ),
        (
            2,
            "2.1",
            "from kminilog.format.names import segment_name as theirs\n"
            "def segment_name(base_offset):\n    return f'{base_offset:020d}'\n",
        ),
    ],
)
def test_file_may_take_the_librarys_function_beside_the_students(tmp_path, lab, id, answers):
    assert told(start_lab(tmp_path, number=lab), id, answers)[0] == PASS


@pytest.mark.processes
@pytest.mark.parametrize(
    ("lab", "id", "answers"),
    [
        (
            1,
            "1.1",
            "from kminilog.format.dialect import KAFKA\n"
            "from kminilog.format.message import encode\n"
            + HEADER
            + "EXPOSE_CHECKSUM = [(encode(KAFKA, 7, b'key', b'value'),)]\n",
        ),
        (
            6,
            "6.4",
            (lab_of(6).folder / "right" / "round_robin_own_class.py").read_text()
            + "import kminilog.partitioners.round_robin as theirs\nFIRST = theirs.RoundRobin()\n",
        ),
    ],
)
def test_line_of_the_file_that_calls_the_library_is_no_call_of_the_answer(
    tmp_path, lab, id, answers
):
    assert told(start_lab(tmp_path, number=lab), id, answers) == (PASS, None, "")


@pytest.mark.parametrize(
    "answers",
    [
        "from kminilog.partitioners.round_robin import RoundRobin as R\n"
        "class RoundRobin(R): x = 1\n",
        "from kminilog.partitioners.round_robin import RoundRobin\n"
        "class RoundRobin(RoundRobin): x = 1\n",
        "import kminilog.partitioners.round_robin as m\nBase = m.RoundRobin\n"
        "class RoundRobin(Base): x = 1\n",
        "class RoundRobin:\n    x = 1\nfrom kminilog.partitioners.round_robin import RoundRobin\n",
    ],
)
def test_class_that_is_the_librarys_fails(tmp_path, answers):
    status, code, _ = told(start_lab(tmp_path, number=6), "6.4", answers)
    assert (status, code) == (FAIL, "imports-reference")


@pytest.mark.processes
@pytest.mark.parametrize(
    ("lab", "id", "value"),
    [
        (1, "1.8", "('offset_disorder', '0', 1)"),
        (1, "1.8", "(7, '0', 1)"),
        (8, "8.8", "('offset-gap', 'orders-0', 'c1')"),
    ],
)
def test_diagnosis_of_a_class_that_is_none_says_so(tmp_path, lab, id, value):
    folder = start_lab(tmp_path, number=lab)
    status, _, sentence = told(folder, id, f"DIAGNOSIS = {value}\n")
    assert status == ERROR
    name = value.strip("()").partition(",")[0]
    assert sentence == f"there is no class {name}; README.md names the classes"


@pytest.mark.processes
def test_files_that_the_student_has_changed_do_not_count(folder):
    before = outcomes_of(folder, "1.6", "1.8")
    for path in (folder.path / "files").iterdir():
        path.write_bytes(b"")
    for path in (folder.path / "broken" / "ev-0").iterdir():
        path.unlink()
    assert outcomes_of(folder, "1.6", "1.8") == before
    answers = "SECOND_OFFSET = 1\nTHIRD_POSITION = SECOND_CRC = 7\nSECOND_KEY = b''\n"
    answers += "DIAGNOSIS = ('bad-magic', '0', 1)\n"
    folder.answers_path.write_text(answers)
    assert [each.status for each in outcomes_of(folder, "1.6", "1.8").values()] == [FAIL, FAIL]


@pytest.mark.processes
def test_changed_checks_do_not_count(folder):
    (folder.path / "checks.py").write_text("def exercise_1(*words): pass\n")
    assert told(folder, "1.1", HEADER.replace("4 +", "16 +"))[1] == "size-includes-12"
    assert folder.are_checks_changed


@pytest.mark.processes
def test_check_writes_nothing_but_results(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(folder.path)
    folder.answers_path.write_text(HEADER)
    before = tree_of(tmp_path)
    outcomes_of(folder)
    assert tree_of(tmp_path) == before


@pytest.mark.processes
def test_no_bytecode_is_left_in_the_labs(folder):
    folder.answers_path.write_text(HEADER)
    outcomes_of(folder)
    places = [lab_of(1).folder, folder.path]
    assert [path for place in places for path in Path(place).rglob("*.pyc")] == []


@pytest.mark.processes
def test_exercises_in_any_order_have_the_same_outcomes(folder):
    folder.answers_path.write_text(HEADER + CHECKSUM.replace("16", "18"))
    ids = [each.id for each in folder.lab.exercises]
    kept = [(each.status, each.code, each.said) for each in outcomes_of(folder, *ids).values()]
    backwards = outcomes_of(folder, *reversed(ids))
    assert [(each.status, each.code, each.said) for each in map(backwards.__getitem__, ids)] == kept
    alone = check(folder, [exercise_of("1.2")], PROGRAM)[0]
    assert (alone.status, alone.code) == (FAIL, "crc-skips-header")


@pytest.mark.processes
def test_files_that_verify_cannot_read_fail_with_what_is_wrong(tmp_path):
    breaks = "    from pathlib import Path\n    for log_dir in Path().glob('kminilog-data'):\n"
    breaks += "        (log_dir / 'other.json').write_text('broken')\n"
    answers = HEADER.replace("    return", f"{breaks}    return")
    status, code, sentence = told(start_lab(tmp_path), "1.1", answers)
    assert (status, code) == ("fail", None)
    assert sentence.startswith("verify could not read the files that it wrote: ")


@pytest.mark.processes
def test_files_of_which_one_ends_the_common_process_are_judged_one_by_one(tmp_path):
    sources = [tmp_path / "right.py", tmp_path / "ends.py"]
    sources[0].write_text(HEADER)
    sources[1].write_text("import os\n\ndef header(offset, content):\n    os._exit(0)\n")
    judged = run_judge_of_all(
        exercise_of("1.1"), tmp_path, [str(each) for each in sources], PROGRAM
    )
    assert [each.status for each in judged] == [PASS, ERROR]
