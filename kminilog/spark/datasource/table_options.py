"""The options of a table in Spark's catalog: kept in its schema, for Spark does not hand them on.

    CREATE TABLE orders USING kminilog OPTIONS (topic 'orders') LOCATION '/log'
    schema      Spark gives all that the statement says, each option twice: topic, option.topic
    queries     Spark gives that schema, and only the options of the query itself

So the columns keep the options, as metadata. Reads get the table's columns. Writes get those of the
rows, to which Spark gives the table's metadata only if it has to adapt them to the table. If it has
not, they have none, or that of the table where they come from! A write therefore counts as one of a
table only if Spark must have adapted it: all columns have the same options, and there is one that
no row has a value for, since only the log assigns it (writer.py). A use that names a log dir itself
is none of a table. Source: ours; Spark 4.3: PythonTableProvider, V2WriteCommand.outputResolved.
"""

from collections.abc import Collection, Mapping
from urllib.parse import unquote

from pyspark.sql.types import StructType

_KEY = "kminilog.options"
_ONLY_OF_TABLES = "provider"  # Spark says it for CREATE TABLE, and for nothing else
_OPTION = "option."


def defined_options(options: Mapping[str, str]) -> dict[str, str] | None:
    """Return what OPTIONS and LOCATION of CREATE TABLE say, or None if that is not being done."""
    if _ONLY_OF_TABLES not in options:
        return None
    by_lower_case = {name.lower(): text for name, text in options.items()}
    given = {
        name.removeprefix(_OPTION): text
        for name, text in by_lower_case.items()
        if name.startswith(_OPTION)
    }
    if "path" in by_lower_case:  # that of LOCATION, or of OPTIONS: a URI now
        given["path"] = unquote(by_lower_case["path"])
    return given


def keep_options(schema: StructType, options: Mapping[str, str]) -> StructType:
    """Return the schema with the options of a table in each of its columns."""
    for field in schema.fields:
        field.metadata = {_KEY: dict(options)}
    return schema


def kept_options(options: Mapping[str, str], schema: StructType) -> dict[str, str] | None:
    """Return the options of the table that a read or a write is of, or None if it is of none."""
    kept = [dict(field.metadata.get(_KEY, {})) for field in schema.fields]
    if "path" in options or not kept or any(theirs != kept[0] for theirs in kept):
        return None
    return kept[0] or None


def options_in_use(
    options: Mapping[str, str], schema: StructType, names: Collection[str]
) -> dict[str, str]:
    """Return the options of a read or a write, over those of its table that have one of `names`.

    A table has options for both reads and writes, so those of the other kind are left out.
    """
    wanted = {name.lower() for name in names}
    kept = kept_options(options, schema) or {}
    over = {name.lower(): text for name, text in options.items()}
    return {name: text for name, text in kept.items() if name in wanted} | over
