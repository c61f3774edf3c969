"""`lab check --trace`: a failing call as a step-through, in the terminal or as a page.

Source: ours.
"""

from pathlib import Path

from kminilog.cli.shared.output import width, write_line, write_lines
from kminilog.cli.shared.output_files import write_output
from kminilog.course.catalogue import Catalogue
from kminilog.course.comparing import ValueParts
from kminilog.course.judging.outcome import PASS, TODO, ExerciseOutcome
from kminilog.course.steps.failed_call import FailedCall, document
from kminilog.explain.page import render_page
from kminilog.explain.script import language
from kminilog.explain.text import render_text


def show_trace(outcome: ExerciseOutcome, html: Path | None, catalogue: Catalogue) -> None:
    """Write how an answer fails as lines, or as a page; if it does not, that it does not."""
    exercise = outcome.exercise
    write_line()
    if outcome.status in (PASS, TODO) or outcome.said is None:
        write_line(catalogue.say("trace-nothing", exercise=exercise.id))
        return
    says, breaks = catalogue.reason(outcome.code) if outcome.code else ("", "")
    values = outcome.said.values
    failure = FailedCall(
        exercise.id,
        catalogue.sentence(*outcome.said, is_whole=True),
        exercise.see,
        values.get("call", ""),
        says,
        breaks,
    )
    sides = outcome.sides
    if sides is None and {"call", "got", "expected"} <= values.keys():
        got, expected = (ValueParts("text", [("", values[each])]) for each in ("got", "expected"))
        sides = got, expected
    before = language.set(catalogue.language)
    try:
        found = document(failure, sides)
    finally:
        language.reset(before)
    if html:
        difference = len(found.steps) - 1  # before the last step, which explains it
        write_output(html, render_page(found, from_step=difference).encode())
        write_line(catalogue.say("trace-written", file=html, steps=len(found.steps)))
    else:
        write_lines(render_text(found, width=width()))
