"""The task of each exercise of a lab, out of its README.md; it stays Markdown. Source: ours."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kminilog.course.catalogue import Catalogue
from kminilog.course.material import Lab

_LEFT_OUT = ("Tasks", "Predict before you code", "Checkpoint")  # what is said there, buttons do
_HERE = (  # a page has neither a terminal's programs nor its prompt
    (
        r"Look at its bytes with `xxd (\S+)`, or with\s`od [^`]*`,",
        r"*Files to read* shows the bytes of `\1`: look at them,",
    ),
    (r"\s?(,|and)?\s?or (with )?`xxd[^`]*`", ""),
    (r"with nothing but `xxd`", "byte by byte"),
    (r"Type `kminilog lab predict [\d.]+`\.\s", ""),
)


class Task(NamedTuple):
    """What to do: the exercise's id, its text, and of a prediction its question and answers."""

    id: str
    text: str
    question: str
    choices: list[str]


def tasks_of(lab: Lab, catalogue: Catalogue) -> Iterator[Task]:
    """Yield the task of each exercise of a lab."""
    parts = _parts(lab, catalogue)
    for exercise in lab.exercises:
        text = _fitting(parts.get(exercise.id, ""), lab)
        choices = list(catalogue.choices(exercise).values()) if exercise.kind == "predict" else []
        yield Task(exercise.id, text, catalogue.texts(exercise).question, choices)


def about(lab: Lab, catalogue: Catalogue) -> str:
    """Return what README.md says of the lab as a whole."""
    return _fitting(_parts(lab, catalogue)[""], lab)


def _parts(lab: Lab, catalogue: Catalogue) -> Mapping[str, str]:
    return parts_of(catalogue.readme(lab).read_text(encoding="utf-8"))


def parts_of(readme: str) -> Mapping[str, str]:
    r"""Return the paragraphs of each exercise by its id, and what is about the lab by "".

    >>> parts_of("# Lab 1\n\n## Tasks\n\nWrite.\n\n**1.1 One** (5 minutes). Do.\n\n## More\n")
    {'': '# Lab 1\n\n## More\n', '1.1': '**1.1 One** (5 minutes). Do.\n\n'}
    """
    found = {"": ""}
    for section in re.split(r"^(?=## )", readme, flags=re.MULTILINE):
        general, *own = re.split(r"^(?=\*\*(\d+\.\d+) )", section, flags=re.MULTILINE)
        found |= dict(zip(own[::2], own[1::2], strict=True))
        if not general.startswith(tuple(f"## {each}" for each in _LEFT_OUT)):
            found[""] += general
    return found


def _fitting(text: str, lab: Lab) -> str:
    """Return the text in words that fit a page, whose shell is in the folder above the lab's."""
    here = rf" {lab.work_name}/\1/"
    text = re.sub(
        r"\bkminilog [^`\n]*", lambda found: re.sub(" (files|broken)/", here, found[0]), text
    )
    for pattern, fitting in _HERE:
        text = re.sub(pattern, fitting, text)
    return text
