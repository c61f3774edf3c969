"""The page that lists step-throughs: `index.html` beside their pages.

Source: ours.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kminilog.course.steps.document import Document
from kminilog.course.steps.page.render import policy, style_sheet, text

INDEX_PAGE = "index.html"


class Listed(NamedTuple):
    """A step-through in the list: its page is `<name>.html`."""

    name: str
    title: str
    takes: str
    document: Document


def render_index(listed: Sequence[Listed]) -> str:
    """Return the page as text."""
    return "\n".join(_lines(listed)) + "\n"


def _lines(listed: Sequence[Listed]) -> Iterator[str]:
    style = style_sheet()
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
    yield policy(style=style)
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
    yield f"<title>Step-throughs</title><style>{style}</style></head><body>"
    yield "<header><h1>Step-throughs</h1><p>Each is a recording of what the engine did, with its "
    yield "bytes. Your own data: <code>kminilog step NAME</code> and what it takes.</p></header>"
    yield '<main><div class="steps"><section><table>'
    yield "<tr><th>name</th><th>what it shows</th><th>steps</th><th>takes</th></tr>"
    for one in listed:
        yield f'<tr><td><a href="{text(one.name)}.html">{text(one.name)}</a></td>'
        yield f"<td>{text(one.title)}</td>"
        yield f'<td class="number">{len(one.document.steps)}</td><td>{text(one.takes)}</td></tr>'
    yield "</table></section></div></main></body></html>"
