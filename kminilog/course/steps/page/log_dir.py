"""A log dir as one HTML page: each partition as a picture (lanes.py), and lists below it.

The page needs no script, no network and no other file. What is in a shape or in a colour is in
words too. Names are safe, but findings hold what stands in files, so all text is escaped.
Source: ours.
"""

from collections.abc import Iterator, Sequence

from kminilog.course.steps.page.lanes import MAX_SEGMENTS, counted, density, grouped, lanes
from kminilog.course.steps.page.look import FindingLook, LogDirLook, PartitionLook, SegmentLook
from kminilog.course.steps.page.render import policy, resource, style_sheet, text

MAX_PARTITIONS = 200
_VERDICTS = {
    "ok": "verify found nothing wrong",
    "findings": "verify found what is wrong, see the marks and the lists",
    "partial": "verify found nothing, but could not check everything",
}
_COLUMNS = ("", "segment", "offsets", "messages", "bytes", "index entries", "density")


def render_log_dir(look: LogDirLook) -> str:
    """Return the page as text; O(partitions, segments and findings)."""
    return "\n".join(_lines(look)) + "\n"


def _lines(look: LogDirLook) -> Iterator[str]:
    style = style_sheet() + resource("log_dir.css")
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
    yield policy(style=style)
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
    yield f"<title>Log dir {text(look.path)}</title><style>{style}</style></head><body>"
    yield f"<header><h1>Log dir {text(look.path)}</h1>"
    yield f"<p>{text(', '.join(_totals(look)))}</p></header>"
    yield '<main><div class="steps">'
    yield from _overview(look)
    for partition in look.partitions:
        yield from _partition(partition)
    yield from _rest(look)
    yield "</div></main></body></html>"


def _totals(look: LogDirLook) -> Iterator[str]:
    yield counted(len(look.partitions) + look.left_out, "partition")
    yield counted(sum(len(partition.segments) for partition in look.partitions), "segment")
    yield counted(sum(partition.size_bytes for partition in look.partitions), "byte")
    yield _VERDICTS[look.verdict]


def _overview(look: LogDirLook) -> Iterator[str]:
    yield '<section class="step overview"><h2>Partitions</h2>'
    if not look.partitions:
        yield "<p>There are none.</p></section>"
        return
    yield '<div class="scroll"><table><tr><th>partition</th><th>segments</th><th>messages</th>'
    yield "<th>bytes</th><th>largest lag</th><th>findings</th></tr>"
    for partition in look.partitions:
        yield f'<tr><td><a href="#{text(partition.name)}">{text(partition.name)}</a></td>'
        if partition.failure:
            yield '<td colspan="5">could not be read</td></tr>'
            continue
        lags = [group.lag for group in partition.groups if group.lag is not None]
        numbers = (len(partition.segments), partition.message_count, partition.size_bytes)
        cells = [grouped(number) for number in numbers]
        cells += [grouped(max(lags)) if lags else "-", grouped(partition.finding_count)]
        yield "".join(f'<td class="number">{cell}</td>' for cell in cells) + "</tr>"
    yield "</table></div>"
    if look.left_out:
        yield f"<p>{counted(look.left_out, 'more partition')}: not shown. Give a topic, or use "
        yield "<code>kminilog ls</code>.</p>"
    yield "<p>In each picture, offsets run from the log start on the left to the log end on the "
    yield "right, on one axis for all lines. Numbers below bars and marks are those of the lists "
    yield "below the picture.</p></section>"


def _partition(look: PartitionLook) -> Iterator[str]:
    name = text(look.name)
    yield f'<section class="step partition" id="{name}"><h2>{name}</h2>'
    if look.failure:
        yield f"<p>Could not be read: {text(look.failure)}</p>"
        yield from _findings(look.findings)
        yield "</section>"
        return
    parts = (counted(look.message_count, "message"), counted(look.size_bytes, "byte"))
    yield f"<p>{', '.join(parts)}{'' if look.message_count else ': the log is empty'}</p>"
    yield from lanes(look)
    yield from _findings(look.findings)
    yield from _segments(look.segments)
    yield "</section>"


def _findings(findings: Sequence[FindingLook]) -> Iterator[str]:
    if not findings:
        return
    yield '<h3>Findings of verify</h3><ol class="findings">'
    for finding in findings:
        yield f'<li><p><b class="{finding.severity}">{text(finding.kind)}, {finding.severity}</b> '
        yield f"<span>{text(finding.place)}</span></p><p>{text(finding.detail)}</p>"
        if finding.comes_from:
            yield f"<p>{text(finding.comes_from)}</p>"
        yield f"<pre>{text(finding.command)}</pre></li>"
    yield "</ol>"


def _segments(segments: Sequence[SegmentLook]) -> Iterator[str]:
    if not segments:
        return
    heads = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    yield f'<h3>{counted(len(segments), "segment")}</h3><div class="scroll list" role="region" '
    yield f'aria-label="segments" tabindex="0"><table class="segments"><tr>{heads}</tr>'
    for number, segment in enumerate(segments[:MAX_SEGMENTS], start=1):
        messages, entries = segment.message_count, segment.index_entries
        last = segment.next_offset - 1
        cells = (
            number,
            text(segment.name),
            f"{segment.first_offset}..{last}" if messages > 0 else "none",
            grouped(messages),
            grouped(segment.log_bytes),
            grouped(entries),
            density(messages, entries),
        )
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    yield "</table></div>"
    if len(segments) > MAX_SEGMENTS:
        rest = len(segments) - MAX_SEGMENTS
        yield f"<p>and {counted(rest, 'more segment')}: <code>kminilog ls</code> lists all</p>"


def _rest(look: LogDirLook) -> Iterator[str]:
    more = [
        f"{kind}: {counted(total, 'finding')}, {shown} shown; kminilog verify counts them"
        for kind, total, shown in look.counts
        if total > shown
    ]
    if look.elsewhere:
        yield '<section class="step"><h2>In none of the partitions above</h2>'
        yield from _findings(look.elsewhere)
        yield "</section>"
    for title, lines in (
        ("Not all findings are shown", more),
        ("Could not be read", look.not_read),
        ("Not checked by verify", look.not_checked),
    ):
        if lines:
            items = "".join(f"<li>{text(line)}</li>" for line in lines)
            yield f'<section class="step rest"><h2>{title}</h2><ul>{items}</ul></section>'
