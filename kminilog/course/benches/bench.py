"""A bench: a place to play with the engine. What is typed and done there leads to a document.

    fields    a form: `key=TT0124 partitions=15`
    acts      buttons, with fields of their own; each act is one line: `append k1 "red apple"`

The fields and the acts so far are the whole state. `answer` runs all acts anew on each call. So an
act is taken back by leaving it out, and an address that has them all is enough to come back.
The last step of the document is what is shown. Source: ours.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from kminilog.explain.document import Document

MAX_ACTS = 200


class BenchField(NamedTuple):
    """A field of a form: one of the choices, or a number on a slider up to its end, or text."""

    name: str
    label: str
    default: str = ""
    choices: tuple[str, ...] = ()
    slider_end: int = 0


class BenchAct(NamedTuple):
    """A button with its own fields: their values are the words of the act, after its name."""

    name: str
    label: str
    fields: tuple[BenchField, ...] = ()


class Bench(NamedTuple):
    """`document` takes the value of each field, and the acts so far as lines.

    It raises ValueError with one clear line for bad input.
    """

    name: str
    title: str
    fields: tuple[BenchField, ...]
    acts: tuple[BenchAct, ...]
    document: Callable[[Mapping[str, str], Sequence[str]], Document]

    @property
    def forms(self) -> list[tuple[tuple[BenchField, ...], list[BenchAct]]]:
        """The acts: neighbours with the same fields share a form."""
        return [(fields, [*same]) for fields, same in groupby(self.acts, attrgetter("fields"))]

    def answer(self, given: Mapping[str, str], acts: Sequence[str]) -> Document:
        """Return the document of a state; a field that is not given has its default.

        Raises ValueError for a value that is no choice, and for an act that the bench lacks.
        """
        if len(acts) > MAX_ACTS:
            raise ValueError(f"{len(acts)} acts: a bench takes at most {MAX_ACTS}")
        values = {field.name: given.get(field.name, field.default) for field in self.fields}
        for field in self.fields:
            if field.choices and values[field.name] not in field.choices:
                choices = ", ".join(field.choices)
                raise ValueError(f"{field.label}: {values[field.name]!r} is none of: {choices}")
        for act in acts:
            self._check(act)
        return self.document(values, acts)

    def _check(self, act: str) -> None:
        words = act_words(act)
        known = {one.name: [one.name, *(field.name for field in one.fields)] for one in self.acts}
        if not words or len(known.get(words[0], ())) != len(words):
            acts = ", ".join(map(" ".join, known.values()))
            raise ValueError(f"{act!r} is no act of this bench; its acts: {acts or 'none'}")


@lru_cache(MAX_ACTS)  # the same acts are asked for again and again, each time one more
def act_words(act: str) -> tuple[str, ...]:
    """Return the words of an act, as a shell reads them: its name, then the values of its fields.

    >>> act_words("append k1 'red apple'")
    ('append', 'k1', 'red apple')
    """
    try:
        return tuple(shlex.split(act))
    except ValueError as fault:
        raise ValueError(f"{act!r}: {fault}") from None


def whole_number(text: str, label: str, least: int, most: int) -> int:
    """Return the number that a field has as text, from `least` to `most`; else ValueError.

    >>> whole_number("15", "partitions", 1, 100)
    15
    """
    if text not in map(str, range(least, most + 1)):
        raise ValueError(f"{label}: {text!r} is no number from {least} to {most}")
    return int(text)
