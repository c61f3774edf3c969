"""A check in three layers: unit checks, a real command, and the library's own verdict.

    (a)  judge           each exercise by itself, in a process of its own
    (b)  patching        each command once, on all functions that passed (a); alone, if that fails
    (c)  verify          in this process, which never runs the student's code: are the files right?
         or the output   of the command, against that of the library

The command runs in a process in which the student's functions stand in for the library's
(patched.py), in a directory with these files:

    lines.txt        twenty lines, "k0:value 0" and so on
    kminilog-data    a log dir with the topics `orders`, documented, and `views`, in Kafka's dialect

`empty`: the topics have no messages. `sound`: each partition has 30. `crashed`: as `sound`, but the
last segment of orders-0 has a torn tail and has lost its index, another index there has no log, and
nobody has shut down cleanly.

In an exam keys and values are others, drawn by a seed, of the same lengths.

An exercise passes if all three layers do; one that replaces nothing of the engine has only the
first. Exercises are checked side by side, as many as there are processors. `program` is the module
that runs a command: this one knows no command line. Source: ours.
"""

import json
import os
import shlex
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from string import ascii_lowercase, digits
from typing import Any

from kminilog.course.answers import ANSWERS_FILE, Answers, UnreadableError
from kminilog.course.comparing import ValueParts, of_file
from kminilog.course.judging.diagnosis import judge_diagnosis
from kminilog.course.judging.exposing import counted_wrong_answers
from kminilog.course.judging.judge import IMPORTS_REFERENCE
from kminilog.course.judging.limits import (
    COMMAND_CPU_SECONDS,
    CPU_SECONDS,
    IDLE_SECONDS,
    JOB_CPU_SECONDS,
    WALL_SECONDS,
)
from kminilog.course.judging.outcome import (
    FAIL,
    PASS,
    TIMEOUT,
    TODO,
    TOO_BUSY,
    UNREADABLE,
    CatalogueSentence,
    ExerciseOutcome,
    error_of,
)
from kminilog.course.judging.sandbox import ProcessResult, TooBusyError, run_module
from kminilog.course.judging.spark_job import (
    DONE,
    FAILED,
    KILLED,
    RUNS,
    first_finding,
    prepare,
)
from kminilog.course.material import Exercise, target_of
from kminilog.course.work_folder import WorkFolder
from kminilog.errors import KMiniLogError, SparkUnavailableError
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.names import segment_name
from kminilog.progress import Progress, untold
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.verification.findings import FindingClass
from kminilog.verification.report import verify_storage

# ---- the files that a command works on


LOG_DIR = "kminilog-data"
LINES = "".join(f"k{number % 3}:value {number}\n" for number in range(20))
_SETTINGS = TopicSettings(segment_bytes=200, index_interval_bytes=60)
_LETTERS = (ascii_lowercase + digits).encode()
_MESSAGES = [(b"k%d" % (number % 7), b"value %d" % number) for number in range(30)]


def write_scenery(directory: Path, log: str, seed: int = 0) -> None:
    """Write it into an empty directory; `log` is one of the three above. Deterministic by seed."""
    messages = [] if log == "empty" else [(_drawn(k, seed), _drawn(v, seed)) for k, v in _MESSAGES]
    (directory / "lines.txt").write_bytes(_drawn(LINES.encode(), seed))
    log_dir = directory / LOG_DIR
    with LogDirWriter.open(log_dir, create=True) as writer:
        for name, dialect in (("orders", DOCUMENTED), ("views", KAFKA)):
            topic = Topic(name, 3, dialect, _SETTINGS)
            writer.create_topic(topic, chance=Random(name))
            for partition in topic.all_partitions():
                writer.log(partition).append(messages)
    if log == "crashed":
        last = max((log_dir / "orders-0").glob("*.log"))
        last.write_bytes(last.read_bytes() + bytes(5))
        last.with_suffix(".index").unlink()
        (last.parent / f"{segment_name(99)}.index").touch()
        (log_dir / ".clean-shutdown").unlink()


def _drawn(text: bytes, seed: int) -> bytes:
    """Return a text with other letters and digits, different ones for different ones; 0: as it is.

    >>> _drawn(b"k0:value 0", 0), _drawn(b"k0:value 0", 7)
    (b'k0:value 0', b'2s:c5wn3 s')
    """
    drawn = [*_LETTERS]
    if seed:
        Random(seed).shuffle(drawn)
    return text.translate(bytes.maketrans(_LETTERS, bytes(drawn)))


# ---- the second and the third layer


_DUMP_LINES = 4


def run_command(
    program: str, source: str, exercises: list[Exercise], together: list[Exercise], seed: int = 0
) -> dict[str, ExerciseOutcome]:
    """Run the command of exercises on the student's functions; return their outcomes by id.

    All of `together` are in place at once. If the command fails then, each exercise is tried with
    its own function alone, so that the one that fails is named.
    """
    began = time.monotonic()
    try:
        found = _tried(program, source, exercises, together, seed)
        if len(together) > 1 and any(each.status != PASS for each in found.values()):
            found = {}
            for exercise in exercises:
                found |= _tried(program, source, [exercise], [exercise], seed)
    except TooBusyError:
        found = {each.id: _too_busy_for(each) for each in exercises}
    seconds = (time.monotonic() - began) / len(exercises)
    return {id: replace(outcome, seconds=seconds) for id, outcome in found.items()}


def _tried(
    program: str, source: str, exercises: list[Exercise], together: list[Exercise], seed: int
) -> dict[str, ExerciseOutcome]:
    one = exercises[0]
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        write_scenery(directory, one.log, seed)
        symbols = [each.symbol for each in together]
        ran = run_module(
            "kminilog.course.judging.patched",
            program,
            "RESULT",
            json.dumps([[source, one.lab, symbols]]),
            *shlex.split(one.command),
            folder=directory,
            cpu_seconds=COMMAND_CPU_SECONDS,
            needs_result=True,
        )
        failed = _failed_command(one, ran) or _verdict(program, one, ran, directory, seed)
        calls = (ran.result or {}).get("calls", {})
    if failed.status != PASS:
        return {each.id: replace(failed, exercise=each) for each in exercises}
    never = ExerciseOutcome(
        one, FAIL, said=CatalogueSentence("never-called", {"command": one.command})
    )
    return {
        each.id: replace(failed if calls.get(each.symbol) else never, exercise=each)
        for each in exercises
    }


def _failed_command(exercise: Exercise, ran: ProcessResult) -> ExerciseOutcome | None:
    """Return what went wrong if the command failed on the student's functions."""
    values = {"command": exercise.command}
    told = (ran.result or {}).get("complaint")
    if told:
        values |= {"answer": str(told["symbol"]).rpartition(".")[2], "error": told["error"]}
        is_taken = told["name"] == "command-takes-from-library"
        code = IMPORTS_REFERENCE if is_taken else None
        return ExerciseOutcome(exercise, FAIL, code, CatalogueSentence(told["name"], values))
    if ran.is_endless:
        return ExerciseOutcome(exercise, TIMEOUT, said=CatalogueSentence("command-endless", values))
    if ran.is_killed:
        return error_of(exercise, "command-killed", **values)
    if ran.code:
        last = (ran.errors.strip().splitlines() or [f"exit code {ran.code}"])[-1]
        values["error"] = last.removeprefix("kminilog: ")
        return ExerciseOutcome(exercise, FAIL, said=CatalogueSentence("command-failed", values))
    return None


def _verdict(
    program: str, exercise: Exercise, ran: ProcessResult, directory: Path, seed: int
) -> ExerciseOutcome:
    if exercise.judge == "same-output":
        expected = _output_of_library(program, exercise.library_command, exercise.log, seed)
        if ran.output == expected:
            return ExerciseOutcome(exercise, PASS)
        said = CatalogueSentence("output-differs", {"command": exercise.command})
        return ExerciseOutcome(exercise, FAIL, said=said)
    _, _, partitioner = exercise.judge.partition(" --partitioner ")
    log_dir = LogDir(directory / LOG_DIR)
    try:
        report = verify_storage(log_dir, partitioner=partitioner or None)
    except (KMiniLogError, OSError) as error:
        return _not_verified(exercise, str(error))
    if report.verdict == "ok":
        return ExerciseOutcome(
            exercise, PASS, verdict=("verify: ok", *_dump(program, exercise, directory))
        )
    if report.verdict == "partial":
        return _not_verified(exercise, next(o.in_words() for o in report.unchecked if o.asked))
    first = report.tally.findings()[0]
    values = {"finding": first.kind.value, "detail": first.detail}
    return ExerciseOutcome(exercise, FAIL, said=CatalogueSentence("verify-finds", values))


def _not_verified(exercise: Exercise, error: str) -> ExerciseOutcome:
    return ExerciseOutcome(
        exercise, FAIL, said=CatalogueSentence("verify-failed", {"error": error})
    )


@cache
def _output_of_library(program: str, command: str, log: str, seed: int) -> str:
    with tempfile.TemporaryDirectory() as temporary:
        write_scenery(Path(temporary), log, seed)
        return run_module(program, *shlex.split(command), folder=Path(temporary)).output


def _dump(program: str, exercise: Exercise, directory: Path) -> list[str]:
    """Return the first lines that Kafka's DumpLogSegments would print of the student's file."""
    if not exercise.dump:
        return []
    ran = run_module(program, "dump", exercise.dump, "--format", "kafka", folder=directory)
    return ran.output.splitlines()[:_DUMP_LINES]


# ---- the three layers


_EXPLAINED = {
    FindingClass.DUPLICATE,
    FindingClass.KEY_ORDER,
    FindingClass.MISSING,
    FindingClass.OFFSET_OVERLAP,
    FindingClass.WRONG_PARTITION,
}
"""The findings about the topic of a job that have a reason in the catalogue."""


_MOST_PROCESSES = 6  # of a job: killed, failed, done, `verify` three times


def hanging_seconds(exercise: Exercise) -> float:
    """Return how long a check takes on an idle machine if each process computes without end, or not
    at all."""
    limits = [CPU_SECONDS, COMMAND_CPU_SECONDS, COMMAND_CPU_SECONDS]
    if exercise.needs_spark:
        limits = [JOB_CPU_SECONDS for _ in RUNS]
    return sum(max(limit, IDLE_SECONDS) for limit in limits)


def most_seconds(exercises: Sequence[Exercise]) -> float:
    """Return after how long the last limits end a check, on whatever machine."""
    return len(exercises) * _MOST_PROCESSES * WALL_SECONDS


def check(
    folder: WorkFolder,
    exercises: Iterable[Exercise],
    program: str,
    workers: int | None = None,
    seed: int = 0,
    at: Progress = untold,
) -> list[ExerciseOutcome]:
    """Return the outcomes of exercises of one lab, in their order; see the module for how.

    The files that the student has read off are made anew: changed ones do not count. `workers` are
    the exercises that are checked at the same time: as many as there are processors. A function
    that inputs are for is checked with them, if it has not passed before. An exam has a `seed`, so
    that the commands work on other data. `at` is told which of its RUNS a Spark job is in.
    """
    wanted = list(exercises)
    targets = [target_of(each) for each in wanted if each.kind == "expose"]
    unchecked = [each for each in targets if each not in wanted and each.id not in folder.passed]
    try:
        answers = Answers(folder.answers_path)
    except UnreadableError as error:
        return [_unreadable(folder, exercise, error) for exercise in wanted]
    with tempfile.TemporaryDirectory() as temporary:
        given = Path(temporary)
        folder.write_given_files(given)
        with ThreadPoolExecutor(workers or max(os.cpu_count() or 1, 2)) as pool:
            judge = partial(_judged, program, folder, answers, given=given, at=at)
            first = list(pool.map(judge, [*wanted, *unchecked]))
            runnable = [each.exercise for each in first if _has_command(each)]
            commands = sorted({(each.command, each.log, each.judge) for each in runnable})
            groups = [
                [each for each in runnable if (each.command, each.log, each.judge) == command]
                for command in commands
            ]
            source = str(folder.answers_path)
            told = pool.map(
                lambda group: run_command(program, source, group, runnable, seed), groups
            )
            complaints = {id: outcome for group in told for id, outcome in group.items()}
            merged = [_merged(each, complaints.get(each.exercise.id)) for each in first]
            found = {each.exercise.id: each for each in merged}
            return [_after_target(found[each.id], found) for each in wanted]


def check_files(
    exercise: Exercise,
    folder: WorkFolder,
    right: Sequence[Path],
    wrong: Sequence[Path],
    program: str,
) -> tuple[list[ExerciseOutcome], list[ExerciseOutcome]]:
    """Return the outcomes of one exercise in the course's own files.

    Right ones are checked in all layers, wrong ones in the unit checks alone. The unit checks of
    all files are in one process, if that comes to its end.
    """
    early = [_outcome_without_judge(folder, Answers(path), exercise) for path in right]
    judged = [path for path, outcome in zip(right, early, strict=True) if outcome is None]
    sources = [str(path) for path in (*judged, *wrong)]
    told = iter(run_judge_of_all(exercise, folder.path, sources, program) if sources else [])
    first = [outcome or next(told) for outcome in early]

    def with_command(path: Path, outcome: ExerciseOutcome) -> ExerciseOutcome:
        if not _has_command(outcome):
            return outcome
        return _merged(
            outcome, run_command(program, str(path), [exercise], [exercise])[exercise.id]
        )

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(with_command, right, first)), list(told)


def _has_command(outcome: ExerciseOutcome) -> bool:
    return outcome.status == PASS and bool(outcome.exercise.symbol)


def _merged(outcome: ExerciseOutcome, second: ExerciseOutcome | None) -> ExerciseOutcome:
    if second is None:
        return outcome
    seconds = outcome.seconds + second.seconds
    return replace(
        second,
        seconds=seconds,
        computed_seconds=outcome.computed_seconds,
        comparisons=outcome.comparisons,
        printed=outcome.printed,
        tried=outcome.tried,
    )


def _after_target(
    outcome: ExerciseOutcome, found: Mapping[str, ExerciseOutcome]
) -> ExerciseOutcome:
    """Return the outcome; of inputs, only if the function that they are for passes."""
    exercise = outcome.exercise
    if exercise.kind != "expose" or outcome.status == TODO:
        return outcome
    target = target_of(exercise).id
    if target not in found or found[target].status == PASS:  # or it has passed before
        return outcome
    if found[target].is_too_busy:
        return _too_busy_for(exercise)
    return error_of(exercise, "not-yet-passed", target=target)


# ---- (a)


def _judged(
    program: str,
    folder: WorkFolder,
    answers: Answers,
    exercise: Exercise,
    given: Path,
    at: Progress,
) -> ExerciseOutcome:
    if early := _outcome_without_judge(folder, answers, exercise):
        return early
    began = time.monotonic()
    try:
        outcome = run_judge(exercise, given, str(folder.answers_path), program, answers, at)
    except TooBusyError:
        outcome = _too_busy_for(exercise)
    return replace(outcome, seconds=time.monotonic() - began)


def _outcome_without_judge(
    folder: WorkFolder, answers: Answers, exercise: Exercise
) -> ExerciseOutcome | None:
    """Return what the file, or the progress, tells already; None if code must run."""
    if exercise.kind == "predict":
        return ExerciseOutcome(exercise, PASS if folder.noted("predicted", exercise) else TODO)
    missing = [name for name in exercise.answers if answers.line_of(name) is None]
    if missing:
        return error_of(exercise, "missing-answer", file=ANSWERS_FILE, answer=missing[0])
    untouched = [name for name in exercise.answers if answers.is_untouched(name)]
    if len(untouched) == len(exercise.answers):
        return ExerciseOutcome(exercise, TODO)
    if untouched:
        values = _whose(exercise, answers, answer=untouched[0])
        return error_of(exercise, "not-filled-in", **values)
    if exercise.symbol and (line := answers.imports_reference(exercise)):
        said = CatalogueSentence("takes-from-library", {"line": str(line), "answer": exercise.name})
        return ExerciseOutcome(exercise, FAIL, IMPORTS_REFERENCE, said)
    if exercise.kind == "expose" and not counted_wrong_answers(exercise):
        return error_of(exercise, "nothing-to-expose", target=target_of(exercise).id)
    return None


def _too_busy_for(exercise: Exercise) -> ExerciseOutcome:
    return error_of(exercise, TOO_BUSY, answer=exercise.answers[0])


def run_judge(
    exercise: Exercise,
    given: Path,
    source: str,
    program: str,
    answers: Answers | None = None,
    at: Progress = untold,
) -> ExerciseOutcome:
    """Return what the unit checks say of a file; `given` has the files that the lab gives out."""
    if exercise.needs_spark:
        return _judged_jobs(exercise, given, [source], program, answers, at)[0]
    ran = _judge(exercise, given, source)
    if told := _told_in(ran):
        outcome = _as_told(exercise, told[0], answers, given)
    else:
        outcome = _unjudged(exercise, ran, answers)
        if outcome.said and "is_loading" in (ran.result or {}):  # at which line nobody knows
            name, values = outcome.said
            said = CatalogueSentence(of_file(name), values | {"line": "?"})
            outcome = replace(outcome, said=said)
    return replace(outcome, tried=ran.tried)


def _unjudged(exercise: Exercise, ran: ProcessResult, answers: Answers | None) -> ExerciseOutcome:
    """Return why a process of the student's code has not come to its end."""
    values = _whose(exercise, answers)
    if ran.is_endless:
        said = CatalogueSentence("endless", values)
        computed = 0 if exercise.needs_spark else CPU_SECONDS
        return ExerciseOutcome(exercise, TIMEOUT, said=said, computed_seconds=computed)
    if ran.is_killed:
        return error_of(exercise, "killed", **values)
    if "MemoryError" in ran.errors:  # the judge, too, had none left
        return error_of(exercise, "raised", error="MemoryError", **values)
    return replace(error_of(exercise, "ended-process", **values), traceback=ran.errors)


def _told_in(ran: ProcessResult) -> list[dict[str, Any]]:
    """Return what a process tells of each file; nothing if it has not come to its end."""
    told: list[dict[str, Any]] = (ran.result or {}).get("told", [])
    return told


def run_judge_of_all(
    exercise: Exercise, folder: Path, sources: Sequence[str], program: str
) -> list[ExerciseOutcome]:
    """Return what the unit checks say of several files: in one process, if it comes to its end.

    If it does not, as one of them computes without end, each file gets a process of its own.
    """
    if exercise.needs_spark:
        return _judged_jobs(exercise, folder, sources, program)
    ran = _judge(exercise, folder, *sources)
    if told := _told_in(ran):
        return [_as_told(exercise, each, None, folder) for each in told]
    return [run_judge(exercise, folder, source, program) for source in sources]


def left_out_but_exposed(exercise: Exercise, folder: Path, source: str) -> list[str] | None:
    """Return which wrong answers the inputs of a trusted file expose although none should.

    None if nobody knows: the process has not come to its end.
    """
    ran = _judge(exercise, folder, source)
    told = _told_in(ran)
    return list(told[0].get("value") or ()) if told else None


def _judged_jobs(
    exercise: Exercise,
    folder: Path,
    sources: Sequence[str],
    program: str,
    answers: Answers | None = None,
    at: Progress = untold,
) -> list[ExerciseOutcome]:
    """Return what `verify` says of the topics that jobs have written; see spark_job.

    If one of them does not come to its end, that is what is said of all.
    """
    check_spark()  # before anybody is told that Spark starts
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        places = [Path(temporary, str(number)) for number, _ in enumerate(sources)]
        jobs = list(zip(map(str, places), sources, strict=True))
        for place in places:
            prepare(place)
        at(KILLED)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            killed = list(pool.map(lambda job: _run_jobs(KILLED, folder, [job]), jobs))
        for ran in killed:
            if ran.is_endless:
                return [_unjudged(exercise, ran, answers)] * len(sources)
        told: list[dict[str, Any]] = [{}] * len(jobs)
        for how in (FAILED, DONE):
            at(how)
            found: list[dict[str, Any]] = []
            while len(found) < len(jobs):
                ran = _run_jobs(how, folder, jobs[len(found) :])
                found += (ran.result or {}).get("told", [])
                if len(found) == len(jobs):
                    break
                if how == DONE or not ran.is_killed:
                    return [_unjudged(exercise, ran, answers)] * len(sources)
                found.append({})  # of the job that was killed while it published
            told = [one or other for one, other in zip(told, found, strict=True)]
        judged = zip(told, places, strict=True)
        return [_job_outcome(program, exercise, each, place, answers) for each, place in judged]


def check_spark() -> None:
    """Raise ModuleNotFoundError without pyspark, SparkUnavailableError without Java."""
    if find_spec("pyspark") is None:
        raise ModuleNotFoundError(name="pyspark")
    from kminilog.jobs.spark.runtime.session import check_java  # only a job needs Spark

    check_java()


def _run_jobs(how: str, folder: Path, jobs: Sequence[tuple[str, str]]) -> ProcessResult:
    words = [word for job in jobs for word in job]
    ran = run_module(
        *("kminilog.course.judging.spark_job", how, "RESULT", *words),
        folder=folder,
        cpu_seconds=JOB_CPU_SECONDS * len(jobs),
        wall_seconds=WALL_SECONDS * len(jobs),
        needs_result=True,
    )
    if reason := (ran.result or {}).get("unavailable"):
        raise SparkUnavailableError(reason)
    return ran


def _job_outcome(
    program: str,
    exercise: Exercise,
    told: dict[str, Any],
    place: Path,
    answers: Answers | None,
) -> ExerciseOutcome:
    if told:
        values = _whose(exercise, answers, told.pop("line"))
        return error_of(exercise, told.pop("name"), **values, **told)
    found = first_finding(place, program)
    if not found:
        return ExerciseOutcome(exercise, PASS, comparisons=1, verdict=("verify: ok",))
    name = "verify-failed" if "error" in found else "verify-finds"
    code = found.pop("code", found.get("finding") if found.get("finding") in _EXPLAINED else None)
    return ExerciseOutcome(exercise, FAIL, code, CatalogueSentence(name, found), comparisons=1)


def _judge(exercise: Exercise, folder: Path, *sources: str) -> ProcessResult:
    arguments = ("kminilog.course.judging.judge", exercise.id, str(folder), "RESULT", *sources)
    seconds = CPU_SECONDS * len(sources)
    return run_module(*arguments, folder=folder, cpu_seconds=seconds, needs_result=True)


def _as_told(
    exercise: Exercise, told: dict[str, Any], answers: Answers | None, given: Path
) -> ExerciseOutcome:
    whose = _whose(exercise, answers, told["line"], told["values"].get("answer"))
    values = {**told["values"], **whose}
    outcome = ExerciseOutcome(
        exercise,
        told["state"],
        told["code"],
        CatalogueSentence(told["name"], values) if told["name"] else None,
        computed_seconds=float(told["computed_seconds"]),
        comparisons=int(told["comparisons"]),
        printed=told["printed"],
        traceback=told.get("traceback", ""),
        sides=_sides(told.get("sides")),
    )
    is_named = exercise.kind == "diagnose" and outcome.status == PASS
    return judge_diagnosis(outcome, told["value"], given) if is_named else outcome


def _sides(told: Any) -> tuple[ValueParts, ValueParts] | None:
    """Return what JSON has made of both sides."""
    if not told:
        return None
    yours, right = (
        ValueParts(kind, [(label, text) for label, text in parts], size)
        for kind, parts, size in told
    )
    return yours, right


def _whose(
    exercise: Exercise,
    answers: Answers | None,
    line: int | None = None,
    answer: str | None = None,
) -> dict[str, str]:
    """Return what names the student's answer in a sentence: answer, exercise, line, file."""
    answer = answer or exercise.answers[0]
    place = line or (answers.line_of(answer) if answers else None) or "?"
    return {"answer": answer, "exercise": exercise.id, "line": str(place), "file": exercise.file}


def _unreadable(folder: WorkFolder, exercise: Exercise, error: UnreadableError) -> ExerciseOutcome:
    if exercise.kind == "predict":
        return ExerciseOutcome(exercise, PASS if folder.noted("predicted", exercise) else TODO)
    return error_of(exercise, UNREADABLE, reason=str(error))
