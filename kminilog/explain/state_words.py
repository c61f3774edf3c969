"""The words of tables and pictures in another language: titles, columns, names, notes and labels.

    [titles]        of all that scenarios name themselves
    [cells.acks]    of the rows of one scenario; those of another one may hold a user's texts
    [frame]         around what is told, in a terminal

A file `words.toml` beside the scripts of a language has them, by what they are in English; `{}` is
a number. What it lacks stays as it is: the names of fields, files and Kafka. Source: ours.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kminilog.explain.document import Document, Picture, State, Table, Value

SCRIPTS = Path(__file__).with_name("scripts")
WORDS_FILE = "words.toml"
_NUMBER = re.compile(r"\d+(?:,\d{3})*")
Words = Callable[[str], str]


def in_language(document: Document) -> Document:
    """Return a document whose tables and pictures have the words of its language."""
    words = _words_of(document.language)
    if not words:
        return document

    def titles(text: str) -> str:
        return translation(text, words["titles"])

    def cells(text: str) -> str:
        return translation(text, words["cells"].get(document.name, {}))

    steps = tuple(
        step._replace(state=_translated(step.state, titles, cells)) for step in document.steps
    )
    return document._replace(steps=steps)


def translation(text: str, words: Mapping[str, str]) -> str:
    """Return a text by words in which `{}` stands for each number.

    >>> translation("2 of 31 left", {"{} of {} left": "{1} 中剩 {0}"})
    '31 中剩 2'
    """
    found = words.get(_NUMBER.sub("{}", text))
    return text if found is None else found.format(*_NUMBER.findall(text))


def frame_words(document: Document, english: str) -> str:
    """Return words around what is told, in the language of a document."""
    frame: dict[str, str] = _words_of(document.language).get("frame", {})
    return frame.get(english, english)


@cache
def _words_of(language: str) -> dict[str, Any]:
    path = SCRIPTS / language / WORDS_FILE
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _translated(state: State, titles: Words, cells: Words) -> State:
    picture = state.picture and _picture(state.picture, titles)
    tables = tuple(_table(table, titles, cells) for table in state.tables)
    return state._replace(tables=tables, picture=picture)


def _table(table: Table, titles: Words, cells: Words) -> Table:
    def shown(value: Value) -> Value:
        return cells(value) if isinstance(value, str) else value

    rows = tuple(tuple(map(shown, row)) for row in table.rows)
    columns = tuple(map(titles, table.columns))
    return table._replace(title=titles(table.title), columns=columns, rows=rows)


def _picture(picture: Picture, titles: Words) -> Picture:
    lanes = tuple(
        lane._replace(
            name=titles(lane.name),
            note=titles(lane.note),
            bars=tuple(bar._replace(label=titles(bar.label)) for bar in lane.bars),
        )
        for lane in picture.lanes
    )
    return picture._replace(title=titles(picture.title), lanes=lanes)
