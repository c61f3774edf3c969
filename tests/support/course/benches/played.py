"""Random acts on a bench: what comes of them is a document, or one line that says why not."""

import re
import shlex
from collections.abc import Sequence

from kminilog.course.benches.bench import Bench
from kminilog.explain.document import Document, compact


def played(bench: Bench, *acts: str, **given: str) -> Document:
    """Return the document of acts; fields of a form have `_` for `.`."""
    fields = {name.replace("_", "."): value for name, value in given.items()}
    return bench.answer(fields, acts)


def act(*words: object) -> str:
    """Return an act as a line."""
    return shlex.join(map(str, words))


def assert_valid_or_one_line(
    bench: Bench, acts: Sequence[str], given: dict[str, str] | None = None
) -> None:
    """Assert that acts lead to a document that viewers can show, or to a ValueError of one line."""
    try:
        document = bench.answer(given or {}, acts)
    except ValueError as error:
        refusal: ValueError | None = error
    else:
        refusal = None
        document.check()
        assert compact(document)
    if refusal:
        assert type(refusal) is ValueError, refusal
        assert re.fullmatch("(?!.*/tmp).+", str(refusal)), refusal
