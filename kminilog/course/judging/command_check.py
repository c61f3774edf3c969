"""The second and third layer of a check: a real command, and the library's own verdict.

The command runs in a process in which the student's functions stand in for the library's
(patched), on files that course.scenery writes. Then `verify` judges what the command wrote, in this
process, which never runs the student's code; or the output is compared with the library's.
Source: ours.
"""

import shlex
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from kminilog.course.judging.judge import IMPORTS_REFERENCE
from kminilog.course.judging.outcome import (
    FAIL,
    PASS,
    TIMEOUT,
    CatalogueSentence,
    Outcome,
    error_of,
)
from kminilog.course.judging.sandbox import ProcessResult, run_module
from kminilog.course.material import Exercise
from kminilog.course.scenery import LOG_DIR, write_scenery
from kminilog.errors import KMiniLogError
from kminilog.storage.log_dir import LogDir
from kminilog.verification.report import verify_storage

_DUMP_LINES = 4


def run_command(
    source: str, exercises: list[Exercise], together: list[Exercise]
) -> dict[str, Outcome]:
    """Run the command of exercises on the student's functions; return their outcomes by id.

    All of `together` are in place at once. If the command fails then, each exercise is tried with
    its own function alone, so that the one that fails is named.
    """
    began = time.monotonic()
    found = _tried(source, exercises, together)
    if len(together) > 1 and any(each.status != PASS for each in found.values()):
        found = {}
        for exercise in exercises:
            found |= _tried(source, [exercise], [exercise])
    seconds = (time.monotonic() - began) / len(exercises)
    return {id: replace(outcome, seconds=seconds) for id, outcome in found.items()}


def _tried(source: str, exercises: list[Exercise], together: list[Exercise]) -> dict[str, Outcome]:
    one = exercises[0]
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary) / "student"
        directory.mkdir()
        write_scenery(directory, one.log)
        symbols = ",".join(each.symbol for each in together)
        words = shlex.split(one.command)
        ran = run_module(
            "cli.lab.patched",
            source,
            "RESULT",
            str(one.lab),
            symbols,
            *words,
            folder=directory,
            needs_result=True,
        )
        failed = _failed_command(one, ran) or _verdict(one, ran, directory, Path(temporary))
        calls = (ran.result or {}).get("calls", {})
    if failed.status != PASS:
        return {each.id: replace(failed, exercise=each) for each in exercises}
    never = Outcome(one, FAIL, said=CatalogueSentence("never-called", {"command": one.command}))
    return {
        each.id: replace(failed if calls.get(each.symbol) else never, exercise=each)
        for each in exercises
    }


def _failed_command(exercise: Exercise, ran: ProcessResult) -> Outcome | None:
    """Return what went wrong if the command failed on the student's functions."""
    values = {"command": exercise.command}
    told = (ran.result or {}).get("complaint")
    if told:
        values |= {"answer": str(told["symbol"]).rpartition(".")[2], "error": told["error"]}
        is_taken = told["name"] == "command-takes-from-library"
        code = IMPORTS_REFERENCE if is_taken else None
        return Outcome(exercise, FAIL, code, CatalogueSentence(told["name"], values))
    if ran.is_too_slow:
        return Outcome(exercise, TIMEOUT, said=CatalogueSentence("command-endless", values))
    if ran.is_killed:
        return error_of(exercise, "command-killed", **values)
    if ran.code:
        last = (ran.errors.strip().splitlines() or [f"exit code {ran.code}"])[-1]
        values["error"] = last.removeprefix("kminilog: ")
        return Outcome(exercise, FAIL, said=CatalogueSentence("command-failed", values))
    return None


def _verdict(exercise: Exercise, ran: ProcessResult, directory: Path, temporary: Path) -> Outcome:
    if exercise.judge == "same-output":
        library = temporary / "library"
        library.mkdir()
        write_scenery(library, exercise.log)
        command = shlex.split(exercise.library_command)
        right = run_module("__main__", *command, folder=library)
        if ran.output == right.output:
            return Outcome(exercise, PASS)
        said = CatalogueSentence("output-differs", {"command": exercise.command})
        return Outcome(exercise, FAIL, said=said)
    _, _, partitioner = exercise.judge.partition(" --partitioner ")
    log_dir = LogDir(directory / LOG_DIR)
    try:
        report = verify_storage(log_dir, partitioner=partitioner or None).to_json()
    except (KMiniLogError, OSError) as error:
        return Outcome(
            exercise, FAIL, said=CatalogueSentence("verify-failed", {"error": str(error)})
        )
    if report["verdict"] == "ok":
        return Outcome(exercise, PASS, verdict=("verify: ok", *_dump(exercise, directory)))
    first = report["findings"][0]
    samples = first["samples"] or [{}]
    values = {"finding": first["class"], "detail": str(samples[0].get("detail", ""))}
    return Outcome(exercise, FAIL, said=CatalogueSentence("verify-finds", values))


def _dump(exercise: Exercise, directory: Path) -> list[str]:
    """Return the first lines that Kafka's DumpLogSegments would print of the student's file."""
    if not exercise.dump:
        return []
    ran = run_module("__main__", "dump", exercise.dump, "--format", "kafka", folder=directory)
    return ran.output.splitlines()[:_DUMP_LINES]
