"""Texts and numbers for a page: nothing in them becomes markup. Source: ours."""

from html import escape

from kminilog.text import printable


def text(value: object) -> str:
    r"""Return `str(value)` escaped for a page, between tags or in quotes.

    >>> print(text('<a href="x">\x00\x1b'))
    &lt;a href=&quot;x&quot;&gt;\x00\x1b
    """
    return escape(printable(value))


def number(value: int) -> str:
    """Return a number with thousands separators.

    >>> number(1234567)
    '1,234,567'
    """
    return f"{value:,}"


def sentence(words: str) -> str:
    """Return a sentence as markup; what stands in backticks is code.

    >>> sentence("Run `kminilog ls`, <now>.")
    'Run <code>kminilog ls</code>, &lt;now&gt;.'
    """
    parts = text(words).split("`")
    return "".join(f"<code>{p}</code>" if n % 2 else p for n, p in enumerate(parts))
