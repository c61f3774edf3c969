"""A student's diagnosis of a broken log, against what `verify` says; it runs only now.

Source: ours.
"""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from kminilog.course.broken import PARTITIONER, Diagnosis, write_copy
from kminilog.course.comparing import short
from kminilog.course.outcome import FAIL, Outcome, Said, error_of
from kminilog.storage.log_dir import LogDir
from kminilog.verification.report import verify_storage


def judge_diagnosis(outcome: Outcome, given: Any, folder: Path) -> Outcome:
    """Return whether a constant, as JSON has it, names class, segment and offset of the damage."""
    exercise = outcome.exercise
    if not (isinstance(given, list) and len(given) == len(Diagnosis._fields)):
        return error_of(exercise, "no-diagnosis", answer=exercise.names[0])
    truth, lines = diagnosis_by_verify(folder)
    for what, got, right in zip(Diagnosis._fields, given, truth, strict=True):
        if got != right:
            said = Said(f"wrong-{what}", {"got": short(got)})
            return replace(outcome, status=FAIL, said=said, comparisons=3)
    return replace(outcome, comparisons=3, verdict=tuple(lines))


def diagnosis_by_verify(folder: Path) -> tuple[Diagnosis, list[str]]:
    """Return what `verify` finds first in the broken log of a folder, and its lines."""
    with tempfile.TemporaryDirectory() as temporary:
        write_copy(folder, Path(temporary))
        report = verify_storage(LogDir(Path(temporary)), partitioner=PARTITIONER)
    findings = report.to_json()["findings"]
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
