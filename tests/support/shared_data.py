"""Real data beside the project, never inside it: `../shared/data`, if this machine has it."""

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).parents[3] / "shared" / "data"


def shared_file(name: str) -> Path:
    """Return a file of the shared data; skip the test, and say so, where it is absent."""
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip(f"NOT TESTED: ../shared/data/{name} is not on this machine")
    return path
