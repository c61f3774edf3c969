"""A student's diagnosis of a broken log, against what `verify` says; it runs only now.

Source: ours.
"""

import json
import tempfile
import time
from pathlib import Path

from kminilog.course.broken import PARTITIONER, Diagnosis, write_copy
from kminilog.course.comparing import short
from kminilog.course.material import Exercise
from kminilog.course.outcome import FAIL, PASS, Outcome, Said, error_of
from kminilog.course.sandbox import run_module


def judge_diagnosis(exercise: Exercise, folder: Path, answers: Path) -> Outcome:
    """Return whether the student's constant names class, segment and offset of the damage."""
    began = time.monotonic()
    name = exercise.names[0]
    ran = run_module(
        "course.constant",
        str(answers),
        name,
        "RESULT",
        folder=folder,
        needs_result=True,
    )
    given = (ran.result or {}).get("value")
    if not (isinstance(given, list) and len(given) == len(Diagnosis._fields)):
        return error_of(exercise, "no-diagnosis", answer=name)
    truth, lines = diagnosis_by_verify(folder)
    seconds = time.monotonic() - began
    for what, got, right in zip(Diagnosis._fields, given, truth, strict=True):
        if got != right:
            said = Said(f"wrong-{what}", {"got": short(got)})
            return Outcome(exercise, FAIL, said=said, seconds=seconds, comparisons=3)
    return Outcome(exercise, PASS, seconds=seconds, comparisons=3, verdict=tuple(lines))


def diagnosis_by_verify(folder: Path) -> tuple[Diagnosis, list[str]]:
    """Return what `verify` finds first in the broken log of a folder, and its lines."""
    with tempfile.TemporaryDirectory() as temporary:
        write_copy(folder, Path(temporary) / "kminilog-data")
        options = ("--json", "--partitioner", PARTITIONER)
        ran = run_module("cli.start", "verify", *options, folder=Path(temporary))
    findings = json.loads(ran.output)["findings"]
    places = [
        (sample["segment"], sample["position"], finding["class"], sample)
        for finding in findings
        for sample in finding["samples"]
        if sample.get("offset") is not None
    ]
    segment, _, name, sample = min(places)
    lines = [
        f"verify: {finding['class']} {finding['samples'][0]['detail']}" for finding in findings
    ]
    return Diagnosis(name, segment, sample["offset"]), lines
