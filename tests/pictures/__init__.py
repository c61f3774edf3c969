"""The pictures of the documentation, drawn from step-throughs: `python -m tests.pictures`."""

from collections.abc import Callable
from pathlib import Path

from kminilog.cli.step.command import scene_command
from kminilog.course.steps.document import Document
from tests.pictures.memory import memory
from tests.pictures.rebalance import rebalance
from tests.pictures.searches import searches
from tests.pictures.segment import segment

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
# File name, how it is drawn, the step-through with its arguments.
DRAWN: dict[str, tuple[Callable[[Document], str], tuple[str, ...]]] = {
    "segment.svg": (segment, ("sparse-index",)),
    "searches.svg": (searches, ("find-offset",)),
    "memory.svg": (memory, ("buffer-pool",)),
    "rebalance.svg": (rebalance, ("rebalance",)),
    "cooperative.svg": (rebalance, ("rebalance", "--strategy", "cooperative-sticky")),
}


def drawn(name: str) -> bytes:
    """Return the picture of this name, drawn anew from what the engine does."""
    draw, (scene, *arguments) = DRAWN[name]
    return draw(scene_command(scene).document(arguments)).encode()
