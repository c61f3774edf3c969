"""The memory of a producer: who has which part of the pool, step by step, and who waits."""

from kminilog.course.steps.document import Document, Step, Value
from tests.pictures.drawing import (
    BLUE,
    DIM,
    GREEN,
    ORANGE,
    WHITE,
    WIDTH,
    Drawing,
)

_LEFT, _TOP, _HEIGHT = 84, 106, 256
_LEGEND = (
    (BLUE, "a buffer, with the name of who has it"),
    (ORANGE, "collected for the first who waits"),
    (GREEN, "free list: a buffer for reuse"),
    (WHITE, "unpooled"),
)


def memory(document: Document) -> str:
    """Draw the ledger of each step of `step buffer-pool` that is a call of the pool."""
    steps = [step for step in document.steps if _rows(step, "Ledger")][:-1]
    total = _ledger(steps[0])["total"]
    picture = Drawing(
        f"The memory of a producer: {total} bytes, step by step",
        f"{len(steps)} columns, one for each step of kminilog step buffer-pool. "
        + " ".join(f"{number}: {step.say}" for number, step in enumerate(steps, start=1)),
    )
    x = 24.0
    for fill, said in _LEGEND:
        picture.box(x, 58, 16, 16, fill)
        picture.text(x + 22, 71, said, size=13)
        x += 46 + len(said) * 6.4
    width = (WIDTH - _LEFT - 24) / len(steps)
    for number, step in enumerate(steps):
        _column(picture, step, number, _LEFT + number * width, width - 6, _HEIGHT / total)
    for name, y in (("step", _TOP + _HEIGHT + 22), ("waiting", _TOP + _HEIGHT + 44)):
        picture.text(_LEFT - 10, y, name, anchor="end", size=13, fill=DIM)
    for size in range(0, total + 1, max(total // 4, 1)):
        level = _TOP + _HEIGHT - size * _HEIGHT / total
        picture.text(_LEFT - 10, level + 4, size, anchor="end", size=13, fill=DIM)
        picture.line(_LEFT - 6, level, _LEFT, level)
    return picture.svg(_TOP + _HEIGHT + 80)


def _column(
    picture: Drawing, step: Step, number: int, x: float, width: float, scale: float
) -> None:
    ledger = _ledger(step)
    parts = [(int(str(row[1])), BLUE, str(row[0])) for row in _rows(step, "Who has a buffer")]
    parts += [
        (ledger["in use: other"], ORANGE, ""),
        (ledger["free list"], GREEN, ""),
        (ledger["unpooled"], WHITE, ""),
    ]
    y: float = _TOP + _HEIGHT
    for size, fill, who in parts:
        if not size:
            continue
        y -= size * scale
        picture.box(x, y, width, size * scale, fill)
        said = f"{who} {size}".strip()
        picture.text(x + width / 2, y + size * scale / 2 + 4, said, anchor="middle", size=12)
    middle = x + width / 2
    picture.text(middle, _TOP + _HEIGHT + 22, number + 1, anchor="middle", size=13, fill=DIM)
    waiting = [f"{row[0]} {row[1]}" for row in _rows(step, "Who waits")]
    for line, said in enumerate(waiting or ["–"]):
        y = _TOP + _HEIGHT + 44 + line * 17
        picture.text(middle, y, said, anchor="middle", size=12, weight=600 if waiting else 400)


def _rows(step: Step, title: str) -> tuple[tuple[Value, ...], ...]:
    return next((t.rows for t in step.state.tables if t.title.startswith(title)), ())


def _ledger(step: Step) -> dict[str, int]:
    return {str(row[0]): int(str(row[1])) for row in _rows(step, "Ledger")}
