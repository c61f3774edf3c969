"""Predicate pushdown and column pruning: each scan of a query reads what this query needs of it.

Spark 4.3 plans a Python source once and keeps the plan for all scans of a DataFrame: of other
queries, and of other branches of one query. With the source's own `pushFilters` it would keep the
plan of one filter for queries with another filter, or with none, and so lose rows. And it tells a
Python source no columns. So `pushdown.java` has a rule for Spark's optimizer. It gives each scan a
source of its own, which gets the filters and the columns of that scan as options. The reader uses
the filters to read less, and Spark evaluates all of them again. So a filter that the reader does
not know is no error. The rule lives in the driver only. Without it nothing is pushed down: that is
slow, and right. Source: Spark 4.3: PythonDataSourceV2, PythonScanBuilder; later releases of Spark
keep a plan for each scan.
"""

from importlib.resources import files
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from kminilog.storage.partition.notices import warn

_RULE = "kminilog.Pushdown"


def plan_each_scan(spark: SparkSession) -> None:
    """Add the rule to a session, and to all sessions that are made from it. Idempotent.

    If this Spark does not know what the rule uses, queries read all that options name: a
    KMiniLogWarning says so. Compiles the rule, for about half a second.
    """
    session: Any = spark._jsparkSession
    extensions = session.extensions()
    if _RULE in extensions.buildOptimizerRules(session).mkString(" "):
        return
    try:
        jvm: Any = spark.sparkContext._jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(session.getClass().getClassLoader())
        compiler.cook(files(__package__).joinpath("pushdown.java").read_text("utf-8"))
        rule = compiler.getClassLoader().loadClass(f"{_RULE}$OfSession")
        extensions.injectOptimizerRule(rule.getConstructors()[0].newInstance(None))
    except Py4JError as error:
        told = str(error).splitlines()
        reason = next((line[2:] for line in told if line.startswith(": ")), told[0])
        warn(f"predicate pushdown is off in Spark {spark.version}: {reason}")
