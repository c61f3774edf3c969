"""Every sentence of the course, in one language.

    labs/messages/en.toml           what the runner says
    labs/01_message/en/texts.toml   titles, questions, answers and hints of a lab
    labs/01_message/en/README.md    what a lab is about

A lecturer translates the course by copies of these files. What a translation lacks is said in
English. Source: ours.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.course.comparing import (
    SENTENCE_CHARACTERS,
    VALUE_CHARACTERS,
    around_difference,
    shortened,
    shortened_error,
)
from kminilog.course.material import Exercise, Lab, MaterialError, beside_labs, lab_of
from kminilog.text import columns

DEFAULT_LANGUAGE = "en"
_ARGUMENT = re.compile(r"\([^…]")  # something of it is left


def languages() -> list[str]:
    """Return the languages that have a catalogue."""
    return sorted(path.stem for path in beside_labs("messages").glob("*.toml"))


def language_of_locale() -> str:
    """Return the language of the locale if there is a catalogue for it, else English."""
    names = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    language = next(filter(None, names), "")[:2]
    return language if language in languages() else DEFAULT_LANGUAGE


class Misconception(NamedTuple):
    """A wrong answer to a prediction, and what who gives it may believe."""

    answer: str
    misconception: str


@dataclass(frozen=True)
class ExerciseTexts:
    """What an exercise says: a prediction its question and answers, all others hints and why.

    `docs` has, by the name of a function or class, what its docstring says in front of examples. In
    English that is in the starter.
    """

    title: str
    why: str = ""
    reading: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    question: str = ""
    right: str = ""
    because: str = ""
    wrong: tuple[Misconception, ...] = ()
    docs: Mapping[str, str] = field(default_factory=dict)


class Catalogue:
    """The sentences of one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    def say(self, name: str, /, **values: Any) -> str:
        """Return the sentence of that name with the values in it; KeyError if there is none."""
        found = _part(self.language, "runner").get(name) or _english()["runner"][name]
        return str(found).format(**values)

    def sentence(self, name: str, values: Mapping[str, str], *, is_whole: bool = False) -> str:
        """Return the sentence of that name about an answer, in 100 characters if that can be.

        It says all of its values if it shall be whole. If it is too long, two values show what
        surrounds their first difference, then the call loses its last arguments. Without any it is
        left out, if the sentence can do without. Then an error loses what it quotes. A name is
        never cut: it says what to do.
        """
        template = str(_part(self.language, "sentences").get(name) or _english()["sentences"][name])
        shown = dict(values)

        def excess() -> int:
            return 0 if is_whole else len(template.format(**shown)) - SENTENCE_CHARACTERS

        if "expected" in shown:
            room = SENTENCE_CHARACTERS
            while excess() > 0 and room >= VALUE_CHARACTERS:
                both = around_difference(values["got"], values["expected"], room)
                shown["got"], shown["expected"] = both
                room -= 1
        elif "got" in shown and excess() > 0:
            shown["got"] = shortened(values["got"], len(values["got"]) - excess())
        if "call" in shown and excess() > 0:
            shown["call"] = shortened(values["call"], len(values["call"]) - excess())
            if name.endswith("-in") and not _ARGUMENT.search(shown["call"]):
                return self.sentence(name.removesuffix("-in"), values)
        if "error" in shown and excess() > 0:
            shown["error"] = shortened_error(values["error"])
        return template.format(**shown)

    def title(self, lab: Lab) -> str:
        """Return the title of a lab."""
        return str(self._of_lab(lab, "title"))

    def first_win(self, lab: Lab, name: str, lines: Iterable[str]) -> list[str]:
        """Return a sentence, and below it what the lab's `first_win` makes of the student's name.

        Its English words are translated, but not those of the name. Columns stay where they are.
        """
        words = {**_part(self.language, "first-win"), name: name}
        longest_first = sorted(filter(None, words), key=len, reverse=True)
        pattern = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in longest_first)

        def translated(found: re.Match[str]) -> str:
            own, blanks = str(words[found[1]]), found[2]
            if len(blanks) > 1:
                blanks = " " * max(2, columns(found[0]) - columns(own))
            return own + blanks

        told = [re.sub(f"({pattern})( *)", translated, line) if pattern else line for line in lines]
        return [str(self._of_lab(lab, "first-win")).format(name=name), "", *told]

    def texts(self, exercise: Exercise) -> ExerciseTexts:
        """Return what an exercise says; all in English if this language lacks it."""
        found = dict(self._of_lab(lab_of(exercise.lab), str(exercise.number)))
        wrong = tuple(Misconception(**each) for each in found.pop("wrong", ()))
        lists = {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
        try:
            return ExerciseTexts(**{**found, **lists}, wrong=wrong)
        except TypeError as error:  # a key that is missing, or that no exercise has
            path = lab_of(exercise.lab).folder / self.language / "texts.toml"
            reason = str(error).partition("() ")[2]
            raise MaterialError(path, f"exercise {exercise.number}: {reason}") from None

    def choices(self, exercise: Exercise) -> dict[str, str]:
        """Return the answers to a prediction: each in English, and in this language.

        The order is that of the English ones, so a number means the same in every language.
        """
        ours, english = self.texts(exercise), Catalogue(DEFAULT_LANGUAGE).texts(exercise)
        answers = [(english.right, ours.right)]
        answers += [(e.answer, o.answer) for e, o in zip(english.wrong, ours.wrong, strict=True)]
        return dict(sorted(answers))

    def readme(self, lab: Lab) -> Path:
        """Return the file that says what a lab is about."""
        path = lab.folder / self.language / "README.md"
        return path if path.is_file() else lab.folder / DEFAULT_LANGUAGE / "README.md"

    def _of_lab(self, lab: Lab, name: str) -> Any:
        found = _texts_of(lab.folder, self.language).get(name)
        return found or _texts_of(lab.folder, DEFAULT_LANGUAGE)[name]

    def reason(self, code: str) -> tuple[str, str]:
        """Return what a reason code means, and what it would break in a real system."""
        found = _part(self.language, "reasons").get(code) or _english()["reasons"][code]
        return str(found["says"]), str(found["breaks"])


def _english() -> dict[str, Any]:
    return _messages(DEFAULT_LANGUAGE)


def _part(language: str, section: str) -> dict[str, Any]:
    return dict(_messages(language).get(section, {}))


def _messages(language: str) -> dict[str, Any]:
    return _read(beside_labs("messages") / f"{language}.toml")


@cache
def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def _texts_of(folder: Path, language: str) -> dict[str, Any]:
    path = folder / language / "texts.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
