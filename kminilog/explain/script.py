"""Scripts: what step-throughs say and ask, as Markdown that a lecturer edits.

    # What recovery does after a crash                  the title
    ## The crash                                        a step, as its scenario names it
    The writer dies. {{ cut | count("byte") }} came.    what the step says
    ? Where does recovery cut the file?                 asked before the step is shown
    + at byte {{ end }} :: All before it is valid.      the right answer, and why it is right
    {% if end %}- at byte 0 :: It loses all.{% endif %}

A scenario runs the engine and tells a step by its name, with facts. The structure is read first,
then each part is rendered by itself. So no fact, such as a user's key, can change the structure. A
part goes on up to an empty line or the next sign; blanks join its lines, but not two Chinese ones.
What its `if` leaves empty is left out, with the answers of a question. A step asks the first
question that is left, unless it has fewer than three answers. Of equal wrong answers the last one
counts. A script stands beside its scenario, in the folder of its language, as
`course/steps/scripts/zh/torn_tail.md` does. Source: ours.
"""

import os
import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kminilog.errors import KMiniLogError
from kminilog.explain.document import (
    DEFAULT_LANGUAGE,
    Ask,
    ByteRange,
    Document,
    Picture,
    Table,
    Value,
)
from kminilog.explain.recording import FEWEST_CHOICES, Recording, ask, question_with_enough_choices
from kminilog.explain.state_words import in_language
from kminilog.format.names import segment_name
from kminilog.text import agreeing, count, noun, numbered, offsets, shown

if TYPE_CHECKING:
    from jinja2 import Template

language = ContextVar("language", default=DEFAULT_LANGUAGE)
"""In which language step-throughs are told; a command sets it."""
OWN_SCRIPTS = "KMINILOG_SCRIPTS"
"""The variable of the environment that names a folder with scripts of one's own."""
_SIGN = re.compile(r"(\{% if (?:(?!%\}).)+%\} *)?([?+-]) +")
_FACT = re.compile("\0([0-9a-f]*)\0")
_FULL_WIDTH = "\u3000-\u303f\uff00-\uffef"  # punctuation
_NO_BLANK = re.compile(
    f"(?<=[{_FULL_WIDTH}]) | (?=[{_FULL_WIDTH}])|(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])"
)


class ScriptError(KMiniLogError):
    """A script breaks a rule, or does not fit its scenario."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(f"{path}, line {line}: {reason}")


class _Part(NamedTuple):
    """A heading (`#`, `##`), a question (`?`), an answer (`+`, `-`) or a paragraph (no sign)."""

    line: int
    sign: str
    text: str


class Script:
    """A script, and what a scenario has told by it so far."""

    def __init__(self, scenario: str, name: str, steps: Sequence[str], **facts: object) -> None:
        """Read the script of a scenario, a Python file; `name` is that of its document.

        `steps` are all that the scenario may tell; `facts` hold for all of them. Raises ScriptError
        if the script lacks one of these steps, has others, or breaks a rule.
        """
        self._path = script_file(Path(scenario), language.get())
        title, self._steps = _read(self._path)
        for step, (heading, *_) in self._steps.items():
            if step not in steps:
                reason = f'nothing tells a step "## {step}"; there are {", ".join(steps)}'
                raise ScriptError(self._path, heading.line, reason)
        for step in steps:
            if step not in self._steps:
                raise ScriptError(self._path, title.line, f'no step "## {step}"; write one')
        self.facts = facts
        told = _with_facts(self._rendered(title, facts))
        self.recording = Recording(name, told, self._path.parent.name)

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
        said = [self._rendered(part, facts) for part in parts if not part.sign]
        say = " ".join(text for text in said if _with_facts(text))
        asked = [part for part in parts if part.sign]
        question = self._question(asked, facts, fewest_choices) if asks else None
        self.recording.step(
            _with_facts(say),
            ask=question and question_with_enough_choices(question, fewest_choices),
            focus=focus,
            values=values,
            tables=tables,
            picture=picture,
        )

    def document(self) -> Document:
        """Return all that was told, with tables and pictures in its language."""
        return in_language(self.recording.document())

    def _question(
        self, parts: Sequence[_Part], facts: Mapping[str, object], fewest_choices: int
    ) -> Ask | None:
        """Return the first question that is left, with the answers that are left to it."""
        asked, question, right, wrong, answers = None, "", [], {}, 0
        for part in parts:
            if part.sign == "?":
                if question:
                    break
                asked, question, answers = part, _with_facts(self._rendered(part, facts)), 0
                continue
            answers += 1
            if question and (text := self._rendered(part, facts)):
                answer, separator, why = map(_with_facts, text.partition(" :: "))
                if not separator:
                    reason = "an answer without its why; write it after ::"
                    raise ScriptError(self._path, part.line, reason)
                if part.sign == "+":
                    right.append((answer, why))
                else:
                    wrong[answer] = why
        if not (asked and question):
            return None
        if len(right) != 1:
            reason = f"{count(len(right), 'right answer')} to this question; give one, after a +"
            raise ScriptError(self._path, asked.line, reason)
        if answers < fewest_choices:
            reason = f"{count(answers, 'answer')} to this question; give {fewest_choices} or more"
            raise ScriptError(self._path, asked.line, reason)
        return ask(question, *right[0], wrong)

    def _rendered(self, part: _Part, facts: Mapping[str, object]) -> str:
        """Return a part in one line, its facts still sealed."""
        from jinja2 import TemplateSyntaxError, UndefinedError

        try:
            return " ".join(_template(part.text).render(facts).split())
        except Exception as error:
            remedy = ""
            if isinstance(error, UndefinedError):
                remedy = f"; the facts are {', '.join(sorted(facts))}"
            elif isinstance(error, TemplateSyntaxError):
                remedy = "; write a fact as {{ name }}"
            raise ScriptError(self._path, part.line, f"{error}{remedy}") from error


def script_file(scenario: Path, language: str) -> Path:
    """Return the script of a scenario, one's own if there is one; that in English as a last resort.

    Raises KMiniLogError as `own_folder`.
    """
    folders = [scenario.with_name("scripts")]
    if own := own_folder():
        folders.insert(0, own)
    languages = (language, DEFAULT_LANGUAGE)
    places = [folder / each / f"{scenario.stem}.md" for each in languages for folder in folders]
    return next(filter(Path.is_file, places), places[-1])


def own_folder() -> Path | None:
    """Return the folder that `OWN_SCRIPTS` names; None if it names none.

    Raises KMiniLogError if the folder is not there, or has a script that nothing reads.
    """
    own = os.environ.get(OWN_SCRIPTS)
    if not own:
        return None
    if not Path(own).is_dir():
        raise KMiniLogError(f"{own}: not a folder; {OWN_SCRIPTS} names one with scripts")
    _check_names(Path(own))
    return Path(own)


@cache
def _check_names(own: Path) -> None:
    """Raise KMiniLogError for a script in the wrong folder, or with the name of no scenario."""
    scripts = {*Path(__file__).parents[1].rglob("scripts/*/*.md")}
    known = {path.stem for path in scripts}
    for path in sorted({*own.glob("*.md"), *own.glob("*/*.md")}):
        is_language = path.parent.name in {each.parent.name for each in scripts}
        stem = path.stem.replace("-", "_")
        if is_language and path.stem not in known:
            names = f"{stem}.md" if stem in known else ", ".join(sorted(known))
            raise KMiniLogError(f"{path}: no step-through has this script; its name is {names}")
        if stem in known and not is_language:
            right = own / DEFAULT_LANGUAGE / f"{stem}.md"
            raise KMiniLogError(f"{path}: not in the folder of a language; move it to {right}")


def _read(path: Path) -> tuple[_Part, dict[str, list[_Part]]]:
    """Return the title of a script, and of each step its heading and what follows it."""
    try:
        title, *lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise ScriptError(path, 1, "not UTF-8; save it as UTF-8") from None
    if not title.startswith("# "):
        raise ScriptError(path, 1, "no title; begin with # and a title")
    steps: dict[str, list[_Part]] = {}
    for number, line in enumerate(map(str.strip, lines), start=2):
        if line.startswith("## "):
            step = line[2:].strip()
            if step in steps:
                raise ScriptError(path, number, f'a second step "## {step}"')
            parts = steps[step] = [_Part(number, "##", step)]
        elif not steps:
            if line:
                raise ScriptError(path, number, "text before the first step; write ## and its name")
        elif found := _SIGN.match(line):
            condition, sign = found.groups()  # the `if` around a part goes with its text
            parts.append(_Part(number, sign, (condition or "") + line[found.end() :]))
        elif not line or parts[-1].sign == "##":
            parts.append(_Part(number, "", line))
        else:
            parts[-1] = parts[-1]._replace(text=f"{parts[-1].text} {line}")
    return _Part(1, "#", title[2:]), steps


def _sealed(fact: object) -> str:
    """Return a fact as digits, so that its blanks and signs stay as they are."""
    return f"\0{str(fact).encode('utf-8', 'surrogatepass').hex()}\0"


def _with_facts(line: str) -> str:
    """Return a line with its facts, and without blanks that its language does not write."""
    line = _NO_BLANK.sub("", line)
    return _FACT.sub(lambda fact: bytes.fromhex(fact[1]).decode("utf-8", "surrogatepass"), line)


@cache
def _template(text: str) -> "Template":
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, finalize=_sealed)
    for function in (agreeing, count, noun, numbered, offsets, segment_name, shown):
        environment.filters[function.__name__] = function
    return environment.from_string(text)
