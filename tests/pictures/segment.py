"""A segment and its index: all messages of a `.log`, and those that have an entry."""

from itertools import pairwise

from kminilog.course.steps.document import Document
from tests.pictures.drawing import BLUE, DIM, GREEN, MARK, WIDTH, Drawing

_LEFT, _INDEX_TOP, _LOG_TOP = 24, 78, 196
_ENTRY_WIDTH, _HEIGHT = 92, 40


def segment(document: Document) -> str:
    """Draw the last state of `step sparse-index`."""
    index, log = sorted(document.final.ends)
    entries = _entries(document, index)
    starts = [
        field.start for field in document.fields if (field.file, field.kind) == (log, "offset")
    ]
    offsets = [f.value for f in document.fields if (f.file, f.kind) == (log, "offset")]
    end = document.final.ends[log]
    interval = document.steps[0].state.values["index.interval.bytes"]
    picture = Drawing(
        "A segment and its index",
        f"{log} holds {len(starts)} messages in {end} bytes. {index} holds {len(entries)} entries, "
        f"each 8 bytes: {'; '.join(f'{relative}, {position}' for relative, position in entries)}. "
        "Each entry points at the byte where its message begins.",
    )
    scale = (WIDTH - 2 * _LEFT) / end
    picture.text(_LEFT, _INDEX_TOP - 10, index, is_mono=True)
    note = f"{len(entries)} entries of 8 bytes: relative offset, position"
    picture.text(WIDTH - _LEFT, _INDEX_TOP - 10, note, anchor="end", fill=DIM)
    for number, (relative, position) in enumerate(entries):
        x = _LEFT + number * _ENTRY_WIDTH
        picture.box(x, _INDEX_TOP, _ENTRY_WIDTH, _HEIGHT, GREEN)
        said = f"{relative}, {position}"
        picture.text(x + _ENTRY_WIDTH / 2, _INDEX_TOP + 26, said, anchor="middle", is_mono=True)
        picture.arrow(
            x + _ENTRY_WIDTH / 2, _INDEX_TOP + _HEIGHT, _LEFT + position * scale, _LOG_TOP
        )
    positions = [position for _, position in entries]
    for (start, stop), offset in zip(pairwise([*starts, end]), offsets, strict=True):
        fill = GREEN if start in positions else BLUE
        picture.box(_LEFT + start * scale, _LOG_TOP, (stop - start) * scale, _HEIGHT, fill)
        middle = _LEFT + (start + stop) / 2 * scale
        picture.text(middle, _LOG_TOP + 26, str(offset)[-2:], anchor="middle", size=13)
    _gaps(picture, [0, *positions], scale)
    picture.text(_LEFT, _LOG_TOP + 122, log, is_mono=True)
    note = f"{len(starts)} messages, {offsets[0]} to {offsets[-1]}, {end} bytes; drawn to scale"
    picture.text(WIDTH - _LEFT, _LOG_TOP + 122, note, anchor="end", fill=DIM)
    rule = f"A message gets an entry if it begins more than {interval} bytes after the last entry."
    picture.text(_LEFT, _LOG_TOP + 150, rule)
    return picture.svg(_LOG_TOP + 172)


def _entries(document: Document, index: str) -> list[tuple[int, int]]:
    values = [int(str(field.value)) for field in document.fields if field.file == index]
    return list(zip(values[::2], values[1::2], strict=True))


def _gaps(picture: Drawing, positions: list[int], scale: float) -> None:
    y = _LOG_TOP + _HEIGHT + 16
    for start, stop in pairwise(positions):
        left, right = _LEFT + start * scale, _LEFT + stop * scale
        picture.line(left + 2, y, right - 2, y, fill=MARK)
        for x in (left + 2, right - 2):
            picture.line(x, y - 5, x, y + 5, fill=MARK)
        picture.text((left + right) / 2, y + 20, stop - start, anchor="middle", size=13)
    picture.text(WIDTH - _LEFT, y + 20, "bytes", anchor="end", size=13, fill=DIM)
