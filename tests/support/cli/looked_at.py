"""A generated log dir with all that its page shows, and the page read back."""

from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from hypothesis import strategies as st

from kminilog.consumer.group import Group
from kminilog.consumer.group_file import write_group
from kminilog.format.dialect import DIALECTS
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from tests.support.damage import flip_byte


class Plan(NamedTuple):
    """`counts`: messages in each partition of t; `flip`: which byte of its first `.log`."""

    dialect: str = "documented"
    counts: tuple[int, ...] = (60, 0)
    segment_bytes: int = 500
    interval_bytes: int = 100
    flip: int | None = 90
    committed: int = 20
    base_offset: int = 0


PLANS = st.builds(
    Plan,
    dialect=st.sampled_from(sorted(DIALECTS)),
    counts=st.tuples(st.integers(1, 90), st.integers(0, 5)),
    segment_bytes=st.integers(150, 2000),
    interval_bytes=st.integers(0, 400),
    flip=st.none() | st.integers(0, 30),
    committed=st.integers(0, 100),
    base_offset=st.integers(0, 10**12),
)


def make(directory: Path, plan: Plan) -> None:
    """Make the topics `t` and, of no message, `nothing`; the group g has read some of t-0."""
    settings = TopicSettings(
        segment_bytes=plan.segment_bytes, index_interval_bytes=plan.interval_bytes
    )
    partitions = len(plan.counts)
    topic = Topic("t", partitions, dialect=DIALECTS[plan.dialect], settings=settings)
    with LogDirWriter.open(directory, create=True) as writer:
        topic = writer.create_topic(topic, base_offset=plan.base_offset)
        writer.create_topic(Topic("nothing", 1))
        for partition, number in zip(topic.all_partitions(), plan.counts, strict=True):
            log = writer.log(partition)
            log.append((b"key%d" % n, b"value %d" % n) for n in range(number))
    if plan.flip is not None:
        flip_byte(sorted((directory / "t-0").glob("*.log"))[0], plan.flip, mask=1)
    committed = plan.base_offset + plan.committed
    (directory / ".groups").mkdir()
    ids = {"t": topic.topic_id or ""}
    write_group(directory, Group("g", committed={TopicPartition("t", 0): committed}, topic_ids=ids))


def tree(page: str) -> Element:
    """Return the page as a tree; it is XML too."""
    start, _, rest = page.partition("\n")
    assert start == "<!DOCTYPE html>"
    return ElementTree.fromstring(rest)


def shown(element: Element) -> str:
    """Return all text in an element, white space made one space."""
    return " ".join("".join(element.itertext()).split())


def of_class(element: Element, name: str) -> list[Element]:
    """Return the elements of this class below an element."""
    return [one for one in element.iter() if name in one.get("class", "").split()]


def section(page: Element, partition: str) -> Element:
    """Return the part of a page that is about a partition."""
    found = page.find(f".//section[@id='{partition}']")
    assert found is not None
    return found


def lane_words(part: Element) -> dict[str, str]:
    """Return what stands above each lane, by the lane's name."""
    named = of_class(part, "lane-name")
    return {shown(one.findall("b")[0]): shown(one.findall("span")[0]) for one in named}


def path_numbers(part: Element, kind: str) -> list[int]:
    """Return where the strokes of one kind begin, in 10,000ths of the axis."""
    drawn = "".join(one.get("d", "") for one in of_class(part, kind))
    return [int(step.split()[0]) for step in drawn.split("M")[1:]]


def segment_rows(part: Element) -> list[tuple[Any, ...]]:
    """Return the list of segments, its numbers as `ls --json` has them."""
    rows = []
    for row in part.findall(".//table[@class='segments']/tr")[1:]:
        _, name, offsets, messages, size, entries, *_ = map(shown, row.findall("td"))
        numbers = [int(cell.replace(",", "")) for cell in (messages, size, entries)]
        rows.append((name, offsets, *numbers))
    return rows
