r"""Pages from the templates in `templates/`: what stands in files and messages stays text.

    base.html                          what every page has: its policy, its style, its title
    report.html, step.html, ...        one for each kind of page
    picture.css, pages.css             colours and pictures, then all else; light and dark
    viewer.js                          the script of a step-through

Whatever a template shows is made printable (text.py), then escaped by markupsafe. A template cannot
leave that out: it happens to every value, and the filter `safe` is gone. A value that is missing is
an error. A page is one file that needs nothing else, and its Content-Security-Policy allows nothing
from anywhere else. Source: ours.
"""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from kminilog.text import agreeing, count, printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


PAGE_BYTES = 400_000
"""How long a page should be, at most."""


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
        "script": _script,
    }
    found.filters |= {"sha256": _digest, "short": _short, "plain": _plain, "words": _words}
    found.filters["srcdoc"] = _srcdoc
    for name in ("picture.css", "pages.css", "viewer.js", "beside.js"):
        content, *_ = loader.get_source(found, name)
        found.globals[name.replace(".", "_")] = Markup(content)
    return found


def _visible(value: object) -> str:
    """Return a value as text without tricks; in markup, ends of lines are none."""
    from markupsafe import Markup

    if isinstance(value, Markup):
        return Markup("\n".join(map(printable, str(value).split("\n"))))
    return printable(value)


def _code(words: str) -> "Markup":
    """Return a sentence as markup; what stands in backticks is code."""
    from markupsafe import Markup

    parts = words.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(p) if n % 2 else p for n, p in enumerate(parts)
    )


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
    """Return a style sheet with its light colours in place of its variables, for any program.

    A variable `--fill` becomes the fill itself, which shapes inherit.

    >>> print(_plain(":root { --ink: light-dark(#111, #eee); } .f { --fill: var(--ink); }"))
     .f { fill: #111; }
    """
    from markupsafe import Markup

    light = dict(re.findall(r"(--[\w-]+): light-dark\((#\w+),", style))
    rules = re.sub(r"/\*.*?\*/|(@media print \{ )?:root \{.*?\}( \})?", "", style, flags=re.DOTALL)
    rules = rules.replace("var(--fill)", "inherit").replace("--fill:", "fill:")
    return Markup(re.sub(r"var\((--[\w-]+)\)", lambda found: light[found[1]], rules))


def _digest(content: str) -> str:
    """Return the SHA-256 of a style sheet or of a script, as a policy has it."""
    return b64encode(sha256(content.encode()).digest()).decode()
