"""The doctests of kminilog/spark, which are not collected with the others: they need pyspark."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["log_options", "log_selection", "stream_reader", "task_groups"])
def test_doctests_of_module_pass(name):
    result = doctest.testmod(importlib.import_module(f"kminilog.spark.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
