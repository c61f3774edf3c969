"""The doctests of kminilog/jobs/spark: not collected with the others, since they need pyspark."""

import doctest
import importlib
from pathlib import Path

import pytest

import kminilog

_ROOT = Path(kminilog.__file__).parent.parent
_WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(_ROOT).with_suffix("").parts)
    for path in _ROOT.glob("kminilog/jobs/spark/**/*.py")
    if ">>> " in path.read_text()
)


@pytest.mark.parametrize("name", _WITH_EXAMPLES)
def test_doctests_of_module_pass(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
