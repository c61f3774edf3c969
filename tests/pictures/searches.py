"""The two searches and the walk: the names of files, the entries of an index, the messages."""

from math import log2

from kminilog.course.steps.document import Document, Step
from tests.pictures.drawing import BLUE, DIM, GREEN, GREY, MARK, WIDTH, Drawing

_LEFT, _NAME_WIDTH, _ROW, _BARS_WIDTH = 24, 228, 19, 520


def searches(document: Document) -> str:
    """Draw `step find-offset` as it is without arguments."""
    found = document.final.values
    names = [step for step in document.steps if _title(step) == "Names of the segments"]
    probes = [step for step in document.steps if _title(step) == "Probes"]
    picture = Drawing(
        f"Two searches and a walk: where is offset {found['offset']}?",
        f"The first search halves the names of the segments: {found['segment']}. The second "
        f"halves the entries of its index, in {len(probes)} probes. Then a walk passes "
        f"{found['scanned messages']} messages and finds offset {found['offset']} at byte "
        f"{found['position']}.",
    )
    y = _names(picture, names, 78)
    y = _probes(picture, document, probes, y + 46)
    return picture.svg(_walk(picture, document, y + 44))


def _title(step: Step) -> str:
    return step.state.tables[0].title if step.state.tables else ""


def _names(picture: Drawing, steps: list[Step], y: float) -> float:
    picture.text(_LEFT, y - 10, "1. Names: the greatest one below the offset", weight=600)
    chosen = steps[-1].state.tables[0].marked
    for slot, name in steps[-1].state.tables[0].rows:
        x = _LEFT + int(str(slot)) * (_NAME_WIDTH + 14)
        is_found = slot in chosen
        picture.box(x, y, _NAME_WIDTH, 32, GREEN if is_found else GREY, is_bold=is_found)
        picture.text(x + _NAME_WIDTH / 2, y + 21, name, anchor="middle", is_mono=True, size=15)
        said = next((s.say for s in steps if s.say.startswith(f"Slot {slot} is ")), None)
        probe = said.split(": ")[1].split(".")[0] if said else "not probed"
        picture.text(x + _NAME_WIDTH / 2, y + 52, probe, anchor="middle", size=13, fill=DIM)
    return y + 52


def _probes(picture: Drawing, document: Document, steps: list[Step], y: float) -> float:
    index = next(file for file in document.files if file.name.endswith(".index"))
    count = index.size_bytes // 8
    wanted = steps[0].state.values["relative offset"]
    title = (
        f"2. Entries of the index: the greatest one not above {wanted} = {_difference(document)}"
    )
    picture.text(_LEFT, y - 10, title, weight=600)
    note = f"{count} entries; one row for each probe"
    picture.text(WIDTH - _LEFT, y - 10, note, anchor="end", fill=DIM, size=13)
    scale = _BARS_WIDTH / log2(count + 1)
    low, high = 0, count
    for number, step in enumerate(steps):
        entry, relative, _, _ = step.state.tables[0].rows[-1]
        top = y + number * _ROW
        left, right = _LEFT + log2(low + 1) * scale, _LEFT + log2(high + 1) * scale
        picture.box(left, top, max(right - left, 3), _ROW - 4, BLUE)
        x = _LEFT + log2(int(str(entry)) + 1) * scale
        picture.line(x, top - 1, x, top + _ROW - 3, fill=MARK, width=4)
        sign = "<" if int(str(relative)) < int(str(wanted)) else ">"
        side = "right" if sign == "<" else "left"
        said = f"entry {entry} is for {relative} {sign} {wanted}: go {side}"
        picture.text(_LEFT + _BARS_WIDTH + 24, top + 13, said, size=13)
        low, high = (int(str(step.state.values[name])) for name in ("low", "high"))
    y += len(steps) * _ROW + 14
    result = next(step for step in document.steps if "walk begins at byte" in step.state.values)
    picture.text(_LEFT + _BARS_WIDTH + 24, y, result.say.split(":")[0] + " it is", weight=600)
    note = "The bar is what is left to search, the line is the probe. Logarithmic scale."
    picture.text(_LEFT, y, note, size=13, fill=DIM)
    return y


def _difference(document: Document) -> str:
    found = document.final.values
    return f"{found['offset']} − {int(str(found['segment']))}"


def _walk(picture: Drawing, document: Document, y: float) -> float:
    found = document.final.values
    log = next(file for file in document.files if file.name.endswith(".log"))
    messages = [f for f in document.fields if (f.file, f.kind) == (log.name, "offset")]
    title = f"3. Messages of the .log: from byte {log.start}, one after the other"
    picture.text(_LEFT, y - 10, title, weight=600)
    scale = (WIDTH - 2 * _LEFT) / (log.end - log.start)
    ends = [field.start for field in messages[1:]] + [log.end]
    for field, end in zip(messages, ends, strict=True):
        is_found = field.value == found["offset"]
        x, width = _LEFT + (field.start - log.start) * scale, (end - field.start) * scale
        picture.box(x, y, width, 36, GREEN if is_found else GREY, is_bold=is_found)
        said = f"offset {field.value}" + (": found" if is_found else ": go on")
        picture.text(x + width / 2, y + 23, said, anchor="middle")
        picture.text(x, y + 54, f"byte {field.start}", size=13, fill=DIM)
    picture.text(WIDTH - _LEFT, y + 54, f"byte {log.end}", size=13, fill=DIM, anchor="end")
    return y + 74
