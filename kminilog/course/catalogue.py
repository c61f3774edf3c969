"""Every sentence that the runner says, in one file for each language: labs/messages/en.toml.

A lecturer translates the course by a copy of that file. What a translation lacks is said in
English. Source: ours.
"""

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

from kminilog.course.comparing import SENTENCE_CHARACTERS
from kminilog.course.material import labs_folder

DEFAULT_LANGUAGE = "en"
_SHORTEST = 8


def languages() -> list[str]:
    """Return the languages that have a catalogue."""
    return sorted(path.stem for path in (labs_folder() / "messages").glob("*.toml"))


def language_of_locale() -> str:
    """Return the language of the locale if there is a catalogue for it, else English."""
    names = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    language = next(filter(None, names), "")[:2]
    return language if language in languages() else DEFAULT_LANGUAGE


class Catalogue:
    """The sentences of one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    def say(self, name: str, /, **values: Any) -> str:
        """Return the sentence of that name with the values in it; KeyError if there is none."""
        found = _part(self.language, "runner").get(name) or _english()["runner"][name]
        return str(found).format(**values)

    def sentence(self, name: str, values: Mapping[str, str]) -> str:
        """Return the sentence of that name about an answer, at most 100 characters long.

        Of values that are too long for that, the longest loses its end.
        """
        template = str(_part(self.language, "sentences").get(name) or _english()["sentences"][name])
        shown = dict(values)
        while len(text := template.format(**shown)) > SENTENCE_CHARACTERS:
            used = [each for each in shown if f"{{{each}}}" in template]
            longest = max(used, key=lambda each: len(shown[each]))
            if len(shown[longest]) < _SHORTEST:
                return text
            shown[longest] = f"{shown[longest].removesuffix('…')[:-1]}…"
        return text

    def reason(self, code: str) -> tuple[str, str]:
        """Return what a reason code means, and what it would break in a real system."""
        found = _part(self.language, "reasons").get(code) or _english()["reasons"][code]
        return str(found["says"]), str(found["breaks"])


def _english() -> dict[str, Any]:
    return _read(DEFAULT_LANGUAGE)


def _part(language: str, section: str) -> dict[str, Any]:
    return dict(_read(language).get(section, {}))


@cache
def _read(language: str) -> dict[str, Any]:
    path = labs_folder() / "messages" / f"{language}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
