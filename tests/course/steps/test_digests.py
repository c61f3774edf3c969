"""The shipped step-throughs are the same bytes on every machine and in every run.

Where a change is meant, `python -m tests.course.steps.test_digests` writes the digests anew.
"""

from pathlib import Path

from kminilog.explain.document import digest
from tests.support.course.steps.scenes import NAMES, made

DIGESTS = Path(__file__).with_name("digests.txt")


def test_scenes_are_those_whose_digests_are_on_record():
    recorded = dict(line.split() for line in DIGESTS.read_text().splitlines())
    assert {name: digest(made(name)) for name in NAMES} == recorded


if __name__ == "__main__":
    DIGESTS.write_text("".join(f"{name} {digest(made(name))}\n" for name in NAMES))
