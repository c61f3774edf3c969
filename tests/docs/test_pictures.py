"""The pictures of the documentation: those of steps, drawn anew, and shown with words for them.

Where a change is meant, `python -m tests.docs.test_pictures` draws them anew.
"""

import re
from functools import reduce
from pathlib import Path

import pytest

from kminilog.cli.step.command import scene_command
from kminilog.explain.document import Document, Picture
from kminilog.explain.drawing import svg
from kminilog.explain.file_pictures import stacked

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "pictures"
WIDTH = 600  # so that letters can be read on a phone
# File name, the words of the step-through, its steps; the pictures of several are stacked.
DRAWN = {
    "record.svg": ("record", (3,)),
    "range.svg": ("range", (15,)),
    "segment.svg": ("sparse-index", (-1,)),
    "searches.svg": ("find-offset", (4, 7, -1)),
    "turns.svg": ("sticky --partitioner round-robin --partitions 3", (-1,)),
    "key.svg": ("murmur2", (9,)),
    "way.svg": ("journey", (-1,)),
    "threads.svg": ("range", (6,)),
    "one-copy.svg": ("failover --switch on", (-1,)),
    "two-copies.svg": ("failover --replicas 2", (-1,)),
    "memory.svg": ("buffer-pool", range(5, 15)),
    "rebalance.svg": ("rebalance", (-1,)),
    "cooperative.svg": ("rebalance --strategy cooperative-sticky", (-1,)),
}
PAGES = [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"]
SHOWN = [
    ((page.parent / target).resolve(), words)
    for page in PAGES
    for words, target in re.findall(r"!\[(.*?)\]\(([^)]+)\)", page.read_text(), re.DOTALL)
]


def drawn(name: str) -> str:
    """Return the picture of this name, drawn anew from what the engine does."""
    (scene, *arguments), numbers = DRAWN[name][0].split(), DRAWN[name][1]
    document = scene_command(scene).document(arguments)
    pictures = [picture_of(document, number) for number in numbers]
    return svg(reduce(stacked, pictures)._replace(title=document.title), width=WIDTH)


def picture_of(document: Document, number: int) -> Picture:
    """Return the picture of a step; of memory, one lane with the number of the step."""
    step = document.steps[number - (number > 0)]
    picture = step.state.picture
    assert picture
    if document.name != "buffer-pool":
        return picture
    memory, queue = picture.lanes
    names = ", ".join(f"{bar.label} for {bar.end - bar.start} bytes" for bar in queue.bars)
    note = f"waiting: {names}" if names else "nobody waits"
    return picture._replace(lanes=(memory._replace(name=f"step {number}", note=note),))


@pytest.mark.parametrize("name", DRAWN)
def test_picture_is_what_the_engine_draws_now(name):
    again = "draw anew: python -m tests.docs.test_pictures"
    assert drawn(name) == (FOLDER / name).read_text(), again


def test_pages_show_every_picture_with_a_text_alternative():
    assert {path for path, _ in SHOWN} == set(FOLDER.resolve().iterdir())
    assert all(words for _, words in SHOWN)


if __name__ == "__main__":
    for name in DRAWN:
        (FOLDER / name).write_text(drawn(name))
