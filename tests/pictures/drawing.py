"""Drawing: boxes, lines and text on a white card, which is legible on light and dark pages."""

from xml.sax.saxutils import escape

INK, DIM, LINE, MARK = "#16191d", "#4c555f", "#8b96a2", "#0b57d0"
BLUE, GREEN, ORANGE, VIOLET, GREY, WHITE = (
    "#cfe3ff",
    "#d6f0d0",
    "#ffe0c2",
    "#e8d9fb",
    "#e6e9ed",
    "#ffffff",
)
WIDTH = 960
_MONO = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


class Drawing:
    """A picture of WIDTH that grows as things are put on it; positions are rounded."""

    def __init__(self, title: str, description: str) -> None:
        self._title, self._description = title, description
        self._parts: list[str] = []
        self.text(24, 36, title, size=19, weight=600)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = WHITE,
        *,
        edge: str = LINE,
        is_dashed: bool = False,
        is_bold: bool = False,
    ) -> None:
        """Draw a rectangle; a bold edge says: look here."""
        dashes = ' stroke-dasharray="4 3"' if is_dashed else ""
        stroke = 2.5 if is_bold else 1
        self._parts.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" '
            f'fill="{fill}" stroke="{edge}" stroke-width="{stroke}"{dashes}/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: object,
        *,
        size: int = 14,
        anchor: str = "start",
        fill: str = INK,
        weight: int = 400,
        is_mono: bool = False,
    ) -> None:
        """Write a line; `y` is its base line."""
        mono = f' font-family="{_MONO}"' if is_mono else ""
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{fill}" font-weight="{weight}"{mono}>{escape(str(text))}</text>'
        )

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *, fill: str = LINE, width: float = 1
    ) -> None:
        """Draw a straight line."""
        self._parts.append(
            f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" '
            f'stroke="{fill}" stroke-width="{width}"/>'
        )

    def arrow(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Draw a line with a head at its end, from top to bottom."""
        middle = (y1 + y2) / 2
        self._parts.append(
            f'<path d="M{_n(x1)} {_n(y1)}C{_n(x1)} {_n(middle)} {_n(x2)} {_n(middle)} '
            f'{_n(x2)} {_n(y2 - 6)}" fill="none" stroke="{MARK}" stroke-width="1.5"/>'
            f'<path d="M{_n(x2 - 4)} {_n(y2 - 8)}L{_n(x2)} {_n(y2)}L{_n(x2 + 4)} {_n(y2 - 8)}z" '
            f'fill="{MARK}"/>'
        )

    def svg(self, height: float) -> str:
        """Return the picture as a file's text."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {_n(height)}" '
            f'width="{WIDTH}" height="{_n(height)}" role="img" aria-labelledby="title desc" '
            "font-family=\"system-ui, -apple-system, 'Segoe UI', sans-serif\">"
        )
        card = (
            f'<rect x="1" y="1" width="{WIDTH - 2}" height="{_n(height - 2)}" rx="8" '
            'fill="#ffffff" stroke="#c9d0d8"/>'
        )
        names = (
            f'<title id="title">{escape(self._title)}</title>'
            f'<desc id="desc">{escape(self._description)}</desc>'
        )
        return "\n".join([head, names, card, *self._parts, "</svg>", ""])


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
