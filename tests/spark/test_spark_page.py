"""The examples of docs/spark.md, one after the other: each must print what the page says."""

import re
from pathlib import Path

from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
EXAMPLE = re.compile(r"```python\n(.*?)```(?:\n\nIt prints\n\n```text\n(.*?)```)?", re.DOTALL)


def test_spark_page_examples_print_what_the_page_says(
    spark: SparkSession, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    examples = EXAMPLE.findall(PAGE.read_text())
    assert len(examples) >= 5
    names: dict[str, object] = {}
    for program, printed in examples:
        exec(compile(program, "docs/spark.md", "exec"), names)  # the examples are ours
        assert capsys.readouterr().out.strip() == printed.strip()
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")
