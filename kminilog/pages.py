r"""Pages from the templates in `templates/`: what stands in files and messages stays text.

    base.html                          what every page has: its policy, its style, its title
    report.html, step.html, ...        one for each kind of page
    picture.css, pages.css             colours and pictures, then all else; light and dark
    viewer.js                          the script of a step-through
    parts.html                         what several pages have

A page about a log dir climbs LIMITS, from little to much, as long as it is not too long.

Whatever a template shows is made printable (text.py), then escaped by markupsafe. A template cannot
leave that out: it happens to every value, and the filter `safe` is gone. A value that is missing is
an error. A page is one file that needs nothing else, and its Content-Security-Policy allows nothing
from anywhere else. Source: ours.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kminilog.text import agreeing, count, printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

Item = TypeVar("Item")
_QUESTION = re.compile(  # a paragraph `<details><summary>One?</summary>`, its answer, and the end
    re.compile(  # as Markdown shows `<details><summary>One?</summary>`, its answer, and its end
        r"<p>&lt;details&gt;&lt;summary&gt;(.*?)&lt;/summary&gt;</p>(.*?)<p>&lt;/details&gt;</p>",
        re.DOTALL,
    )
)
_SHORT_TEXT = 100

PAGE_BYTES = 400_000
"""How long a page should be, at most."""


class PageLimits(NamedTuple):
    """How many of each thing a page shows: of segments, those of a partition, and so on.

    Of `opened` segments of a partition, it shows so many `messages`.
    """

    topics: int
    partitions: int
    segments: int
    groups: int
    findings: int
    opened: int
    messages: int


LIMITS = (
    PageLimits(20, 4, 3, groups=1, findings=1, opened=1, messages=1),
    PageLimits(50, 10, 5, groups=2, findings=2, opened=1, messages=2),
    PageLimits(50, 20, 5, groups=2, findings=2, opened=1, messages=2),
    PageLimits(100, 25, 5, groups=3, findings=5, opened=1, messages=3),
    PageLimits(200, 50, 5, groups=3, findings=10, opened=1, messages=3),
    PageLimits(500, 100, 10, groups=5, findings=20, opened=1, messages=4),
    PageLimits(500, 200, 20, groups=10, findings=50, opened=2, messages=5),
    PageLimits(500, 200, 50, groups=20, findings=100, opened=3, messages=8),
    PageLimits(500, 200, 100, groups=50, findings=500, opened=8, messages=12),
    PageLimits(500, 200, 500, groups=50, findings=500, opened=24, messages=24),
    PageLimits(500, 2_000, 500, groups=50, findings=500, opened=100, messages=60),
)
"""From the strictest to the most generous."""


def render(template: str, **values: object) -> str:
    r"""Return the page, or the part of one, that a template makes of some values.

    Only who asks for a page loads Jinja2. Raises UndefinedError for a value that is missing.

    >>> print(render("facts.html", facts=[("path", "<a>\x1b & b")]))
    <dl class="facts"><div><dt>path</dt><dd>&lt;a&gt;\x1b &amp; b</dd></div></dl>
    <BLANKLINE>
    """
    return _environment().get_template(template).render(values)


def framed(page: str, height: str = "32rem") -> str:
    """Return markup that shows a whole page inside of another one, such as a notebook.

    In its frame it is by itself: neither has the other's styles, and its scripts reach nothing.

    >>> framed("<p>x</p>", "9rem")  # doctest: +ELLIPSIS
    "<iframe srcdoc='&lt;p>x&lt;/p>' sandbox='allow-scripts' ...height: 9rem...></iframe>"
    """
    style = f"width: 100%; height: {height}; border: 0"
    return f"<iframe srcdoc='{_srcdoc(page)}' sandbox='allow-scripts' style='{style}'></iframe>"


def as_much_as_fits(page_of: Callable[[PageLimits, bool], str]) -> str:
    """Return the most generous page that is not too long.

    `page_of` makes one within limits. If it is too long even within the strictest ones, it gets
    False in a second call, so that the page can say so.
    """
    page = ""
    for limits in LIMITS:
        longer = page_of(limits, True)
        if is_too_long(longer):
            break
        page = longer
    return page or page_of(LIMITS[0], False)


def wrong_first(items: Sequence[Item], most: int, is_wrong: Callable[[Item], object]) -> list[Item]:
    """Return so many of the items, in their order: those that are wrong first of all.

    >>> wrong_first("abCd", 2, str.isupper)
    ['a', 'C']
    """
    order = sorted(range(len(items)), key=lambda slot: not is_wrong(items[slot]))
    return [items[slot] for slot in sorted(order[:most])]


def is_too_long(page: str) -> bool:
    """Tell if a page is longer than PAGE_BYTES."""
    return len(page.encode()) > PAGE_BYTES


def grouped(value: int) -> str:
    """Return a number with thousands separators; offsets have none, as in names of files.

    >>> grouped(1234567)
    '1,234,567'
    """
    return f"{value:,}"


def counted(value: int, singular: str) -> str:
    """Return a number with separators and with its noun.

    >>> counted(1, "byte"), counted(1000, "byte")
    ('1 byte', '1,000 bytes')
    """
    return count(value, singular).replace(str(value), grouped(value), 1)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("kminilog")
    found = Environment(
        loader=loader,
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    del found.filters["safe"]
    found.filters |= {
        "grouped": grouped,
        "counted": counted,
        "agreeing": agreeing,
        "code": _code,
        "markdown": _markdown,
        "script": _script,
    }
    found.filters |= {"sha256": _digest, "short": _short, "plain": _plain, "words": _words}
    found.filters["srcdoc"] = _srcdoc
    for name in ("picture.css", "pages.css", "icon.svg", "viewer.js", "beside.js"):
        content, *_ = loader.get_source(found, name)
        found.globals[name.replace(".", "_")] = Markup(content)
    return found


def _visible(value: object) -> str:
    """Return a value as text without tricks; in markup, ends of lines are none."""
    if type(value) in (str, int) and len(text := str(value)) <= _SHORT_TEXT:
        return _escaped(text)
    from markupsafe import Markup

    if isinstance(value, Markup):
        return Markup("\n".join(map(printable, str(value).split("\n"))))
    return printable(value)


@lru_cache(maxsize=10_000)
def _escaped(text: str) -> "Markup":
    """Return a short text as markup; a page has most of them often, as the numbers of a picture."""
    from markupsafe import escape

    return escape(printable(text))


def _code(words: str) -> "Markup":
    """Return a sentence as markup; what stands in backticks is code."""
    from markupsafe import Markup

    parts = words.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(p) if n % 2 else p for n, p in enumerate(parts)
    )


def _markdown(text: str) -> "Markup":
    """Return Markdown as markup; HTML in it is text, but for a question that opens."""
    from markdown_it import MarkdownIt  # only who writes the playground needs it
    from markupsafe import Markup

    made = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return Markup(_QUESTION.sub(r"<details><summary>\1</summary>\2</details>", made))


def _words(command: str) -> "Markup":
    """Return a command as markup in which no line ends inside a word that fits into one."""
    from markupsafe import Markup

    return Markup(" ").join(Markup("<span>{}</span>").format(w) for w in command.split(" "))


def _script(document: str) -> "Markup":
    """Return JSON for an element `script`, as it is: it must have no character of markup."""
    from markupsafe import Markup

    assert not set("<>&") & set(document)
    return Markup(document)


def _short(number: float) -> str:
    """Return a number for a drawing, to a tenth.

    >>> _short(12.04), _short(0.26)
    ('12', '0.3')
    """
    return f"{number:.1f}".removesuffix(".0")


def _srcdoc(page: str) -> "Markup":
    """Return a page as the value of an attribute in single quotes, as it has many double ones.

    Escaped by markupsafe, `sticky` would be 527 KB instead of 368 KB.
    """
    from markupsafe import Markup

    return Markup(page.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;"))


def _plain(style: str) -> "Markup":
    """Return a style sheet with its colours in place of its variables, for any program.

    The dark ones are for those who want it dark. A variable `--fill` becomes the fill itself, which
    shapes inherit.

    >>> print(_plain(":root { --ink: light-dark(#111, #eee); } .f { --fill: var(--ink); }"))
     .f { fill: #111; }
    @media (prefers-color-scheme: dark) {
     .f { fill: #eee; }
    }
    """
    from markupsafe import Markup

    colours = re.findall(r"(--[\w-]+): light-dark\((#\w+), (#\w+)\)", style)
    light, dark = ({name: both[n] for name, *both in colours} for n in range(2))
    rules = re.sub(r"/\*.*?\*/|(@media print \{ )?:root \{.*?\}( \})?", "", style, flags=re.DOTALL)
    rules = rules.replace("var(--fill)", "inherit").replace("--fill:", "fill:")

    def coloured(colours: Mapping[str, str]) -> str:
        return re.sub(r"var\((--[\w-]+)\)", lambda found: colours[found[1]], rules)

    dark_rules = f"@media (prefers-color-scheme: dark) {{\n{coloured(dark)}\n}}"
    return Markup(f"{coloured(light)}\n{dark_rules}")


def _digest(content: str) -> str:
    """Return the SHA-256 of a style sheet or of a script, as a policy has it."""
    return b64encode(sha256(content.encode()).digest()).decode()
