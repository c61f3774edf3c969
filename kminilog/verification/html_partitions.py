"""The partitions of a report for a page: their sizes, where findings are, and their segments.

The size of each is drawn beside the largest. The bar of offsets has a mark for each sample. Source:
ours.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kminilog.verification.html_text import number, text
from kminilog.verification.text_report import by_severity, totals

Json = Mapping[str, Any]
_SHOWN_SEGMENTS = 6  # more are folded
_HEADINGS = ("segment", "first offset", "last offset", "messages", "bytes", "index entries")


def partitions_markup(report: Json) -> Iterator[str]:
    """Yield a section for each topic."""
    for topic in dict.fromkeys(part["topic"] for part in report["partitions"]):
        parts = [part for part in report["partitions"] if part["topic"] == topic]
        largest = max(part["size_bytes"] for part in parts)
        mean = sum(part["size_bytes"] for part in parts) / len(parts)
        skew = f", the largest is {largest / mean:.2f} times the mean" if mean else ""
        yield f"<section><h2>{text(topic)}: partitions</h2>"
        yield f"<p>{len(parts)} of them{skew}. Above, the size of each, and a line for the mean; "
        yield "below, its offsets from the first to the last, with a mark for each sample.</p>"
        yield '<div class="partitions">'
        for part in parts:
            yield from _partition(part, max(largest, 1), mean, _marks(report, part))
        yield "</div>"
        yield from _segments(report, parts)
        if any(found["count"] > len(found["samples"]) for found in report["findings"]):
            yield "<p>Of findings in comparison with the source, only the samples are counted here."
            yield "</p>"
        yield "</section>"


def _partition(part: Json, largest: int, mean: float, marks: Sequence[str]) -> Iterator[str]:
    name = f"{part['topic']}-{part['partition']}"
    start, end = part["log_start_offset"], part["log_end_offset"]
    offsets = f"offsets {start} to {end - 1}" if end > start else "no offsets"
    size, sums = part["size_bytes"], totals({"partitions": [part]})[1:]
    held = ", ".join(f"{number(value)} {unit}" for value, unit in reversed(sums))
    width, at_mean = 100 * size / largest, 100 * mean / largest
    yield f'<div class="partition"><h3>{text(name)}</h3>'
    yield f'<div class="size" role="img" aria-label="{number(size)} bytes">'
    yield f'<span style="width:{width:.2f}%"></span><i style="left:{at_mean:.2f}%"></i></div>'
    yield f"<p>{held}, {offsets}</p>"
    yield f'<div class="offsets" role="img" aria-label="{len(marks)} marks, {offsets}">'
    yield from marks
    yield "</div></div>"


def _marks(report: Json, part: Json) -> list[str]:
    start, end = part["log_start_offset"], part["log_end_offset"]
    marks = []
    for found in by_severity(report):
        severity = "allowed" if found["is_allowed"] else found["severity"]
        for sample in found["samples"]:
            is_here = (sample["topic"], sample["partition"]) == (part["topic"], part["partition"])
            if is_here and sample["offset"] is not None:
                share = (sample["offset"] - start) / max(end - start, 1)
                left = 100 * min(max(share, 0), 1)
                title = text(f"{found['class']}: {sample['place']}")
                marks.append(f'<i class="{severity}" style="left:{left:.2f}%" title="{title}"></i>')
    return marks


def _segments(report: Json, parts: Sequence[Json]) -> Iterator[str]:
    """Yield a table with a row for each segment; it is folded if there are many."""
    rows = [(part, row) for part in parts for row in part.get("segments", ())]
    if not rows:
        return
    is_shown = len(rows) <= _SHOWN_SEGMENTS
    yield f'<details class="segments"{_OPEN if is_shown else ""}>'
    unit = "segment" if len(rows) == 1 else "segments"
    wrong = sum(1 for _, row in rows if row["finding_count"])
    with_findings = f", {number(wrong)} with findings" if wrong else ""
    yield f"<summary>{number(len(rows))} {unit}{with_findings}</summary>"
    yield '<div class="list"><table><thead><tr>'
    yield (
        "".join(f"<th>{name}</th>" for name in _HEADINGS) + "<th>findings</th></tr></thead><tbody>"
    )
    for part, row in rows:
        kind = ' class="wrong"' if row["finding_count"] else ""
        name = f"{part['topic']}-{part['partition']}/{row['segment']}"
        cells = [row["first_offset"], row["last_offset"], row["message_count"]]
        cells += [row["size_bytes"], row["index_entry_count"], row["finding_count"]]
        shown = "".join(f"<td>{'-' if cell is None else number(cell)}</td>" for cell in cells)
        yield f"<tr{kind}><th>{text(name)}</th>{shown}</tr>"
    yield "</tbody></table></div></details>"


_OPEN = ' open="open"'
