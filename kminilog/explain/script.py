"""Scripts: what step-throughs say and ask, as Markdown that a lecturer edits.

    # What recovery does after a crash                  the title
    ## The crash                                        a step, as its scenario names it
    The writer dies. {{ cut | count("byte") }} came.    what the step says
    ? Where does recovery cut the file?                 asked before the step is shown
    + at byte {{ end }} :: All before it is valid.      the right answer, and why it is right
    {% if end %}- at byte 0 :: It loses all.{% endif %}

A scenario runs the engine and tells a step by its name, with facts. The structure is read first,
then each part is rendered by itself. So no fact, such as a user's key, can change the structure. A
part goes on up to an empty line or the next sign; blanks join its lines. What its `if` leaves empty
is left out, with the answers of a question. A step asks the first question that is left, unless it
has fewer than three answers. Of equal wrong answers the last one counts. A script stands beside its
scenario: `course/steps/scripts/en/torn_tail.md`. Source: ours.
"""

import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kminilog.errors import KMiniLogError
from kminilog.explain.document import Ask, ByteRange, Document, Picture, Table, Value
from kminilog.explain.recording import FEWEST_CHOICES, Recording, ask, question_with_enough_choices
from kminilog.format.names import segment_name
from kminilog.text import agreeing, count, noun, numbered, offsets, shown

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from jinja2.runtime import Context

DEFAULT_LANGUAGE = "en"
language = ContextVar("language", default=DEFAULT_LANGUAGE)
"""In which language step-throughs are told; a command sets it."""
_SIGN = re.compile(r"(?:\{% if ((?:(?!%\}).)+) %\} *)?([?+-]) +")
_HELD = re.compile("\0([0-9]+)\0")  # the place of a fact


class ScriptError(KMiniLogError):
    """A script breaks a rule, or does not fit its scenario."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(f"{path}, line {line}: {reason}")


class _Part(NamedTuple):
    """A paragraph, a question (`?`) or an answer (`+` or `-`); all but `line` and `sign` are Jinja.

    `condition` becomes empty if the part is left out.
    """

    line: int
    sign: str
    condition: str
    text: str
    why: str = ""


class Script:
    """A script, and what a scenario has told by it so far."""

    def __init__(self, scenario: str, name: str, steps: Sequence[str], **facts: object) -> None:
        """Read the script of a scenario, a Python file; `name` is that of its document.

        `steps` are all that the scenario may tell; `facts` hold for all of them. Raises ScriptError
        if the script lacks one of these steps, has others, or breaks a rule.
        """
        self._path = script_file(Path(scenario), language.get())
        title, self._steps = _read(self._path, self._path.read_text(encoding="utf-8"))
        for step in steps:
            if step not in self._steps:
                raise ScriptError(self._path, title.line, f'no step "## {step}"; write one')
        for step, (heading, *_) in self._steps.items():
            if step not in steps:
                reason = f'nothing tells a step "## {step}"; there are {", ".join(steps)}'
                raise ScriptError(self._path, heading.line, reason)
        self.facts = facts
        self.recording = Recording(name, self._rendered(title, title.text, facts))

    def tell(
        self,
        step: str,
        *,
        asks: bool = True,
        fewest_choices: int = FEWEST_CHOICES,
        focus: Sequence[ByteRange] = (),
        values: Mapping[str, Value] | None = None,
        tables: Sequence[Table] = (),
        picture: Picture | None = None,
        **facts: object,
    ) -> None:
        """Record a step: what the script says and asks about these facts, and the state.

        Raises ScriptError for an unknown fact, and for a question without one right answer.
        """
        facts = self.facts | facts
        _, *parts = self._steps[step]
        said = [self._rendered(part, part.text, facts) for part in parts if not part.sign]
        question = self._question([part for part in parts if part.sign], facts) if asks else None
        if question:
            question = question_with_enough_choices(question, fewest_choices)
        self.recording.step(
            " ".join(filter(None, said)),
            ask=question,
            focus=focus,
            values=values,
            tables=tables,
            picture=picture,
        )

    def document(self) -> Document:
        """Return all that was told."""
        return self.recording.document()

    def _question(self, parts: Sequence[_Part], facts: Mapping[str, object]) -> Ask | None:
        question, right, wrong = "", [], {}
        for part in parts:
            if part.sign == "?" and question:
                break  # the next question
            asked = question or part.sign == "?"
            if not asked or (part.condition and not self._rendered(part, part.condition, facts)):
                continue
            text, why = (self._rendered(part, one, facts) for one in (part.text, part.why))
            if part.sign == "?":
                question, line = text, part.line
            elif part.sign == "+":
                right.append((text, why))
            else:
                wrong[text] = why
        if not question:
            return None
        if len(right) != 1:
            reason = f"{count(len(right), 'right answer')} to this question; give one, after a +"
            raise ScriptError(self._path, line, reason)
        return ask(question, *right[0], wrong)

    def _rendered(self, part: _Part, text: str, facts: Mapping[str, object]) -> str:
        """Return a text with the facts in it; of its own blanks, one stays where there are more."""
        from jinja2 import TemplateError

        held: list[str] = []
        try:
            made = _template(text).render(facts, _held=held)
        except (TemplateError, TypeError, ValueError) as error:
            known = ", ".join(sorted(facts))
            raise ScriptError(self._path, part.line, f"{error}; the facts are {known}") from None
        return _HELD.sub(lambda place: held[int(place[1])], " ".join(made.split()))


def script_file(scenario: Path, language: str) -> Path:
    """Return the script of a scenario, in English if this language lacks it."""
    scripts, name = scenario.with_name("scripts"), f"{scenario.stem}.md"
    found = scripts / language / name
    return found if found.is_file() else scripts / DEFAULT_LANGUAGE / name


@cache
def _read(path: Path, text: str) -> tuple[_Part, dict[str, list[_Part]]]:
    """Return the title of a script, and of each step its heading and what follows it."""
    found: list[_Part] = []
    begins = True
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#") or _SIGN.match(line) or (begins and line.strip()):
            found.append(_Part(number, "", "", line.strip()))
        elif line.strip():
            found[-1] = found[-1]._replace(text=f"{found[-1].text} {line.strip()}")
        begins = line.startswith("#") or not line.strip()
    if not found or not found[0].text.startswith("# "):
        raise ScriptError(path, 1, "no title; begin with # and a title")
    title, *found = found
    steps: dict[str, list[_Part]] = {}
    for part in found:
        if part.text.startswith("## "):
            name = part.text[2:].strip()
            if name in steps:
                raise ScriptError(path, part.line, f'a second step "## {name}"')
            steps[name] = [part]
        elif steps:
            steps[name].append(_with_sign(path, part))
        else:
            raise ScriptError(path, part.line, "text before the first step; write ## and its name")
    return title._replace(text=title.text[2:]), steps


def _with_sign(path: Path, part: _Part) -> _Part:
    """Return a part of a step, with its sign, condition and why by themselves."""
    found = _SIGN.match(part.text)
    if not found:
        return part
    condition, sign = found.groups()
    text = part.text[found.end() :]
    if condition:
        text = text.removesuffix("{% endif %}")
        condition = f"{{% if {condition} %}}yes{{% endif %}}"
    part = part._replace(sign=sign, condition=condition or "", text=text)
    if sign == "?":
        return part
    answer, separator, why = text.partition(" :: ")
    if not separator:
        raise ScriptError(path, part.line, "an answer without its why; write it after ::")
    return part._replace(text=answer, why=why)


@cache
def _template(text: str) -> "Template":
    return _environment().from_string(text)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, StrictUndefined, pass_context

    @pass_context
    def hold(context: "Context", fact: object) -> str:
        """Keep a fact out of the text, so that its blanks and signs stay as they are."""
        held: list[str] = context["_held"]
        held.append(str(fact))
        return f"\0{len(held) - 1}\0"

    found = Environment(undefined=StrictUndefined, finalize=hold)
    for function in (agreeing, count, noun, numbered, offsets, segment_name, shown):
        found.filters[function.__name__] = function
    return found
