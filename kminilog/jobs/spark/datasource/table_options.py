"""The options of a table in Spark's catalog: kept in its schema, as Spark does not pass them on.

    CREATE TABLE orders USING kminilog OPTIONS (topic 'orders') LOCATION '/log'
    schema      Spark passes the whole statement, each option twice: topic, option.topic
    queries     Spark passes that schema, and only the options of the query itself

So the columns keep the options as metadata. A read gets the table's columns. A write gets the
columns of the rows. These have the table's metadata only if Spark had to adapt the rows to the
table. Else they have no metadata, or that of the table that the rows come from! So a write counts
as one to a table only if Spark must have adapted it. Then all columns have the same options, and
one of them has no value in any row, because only the log assigns it (writer.py). A read or a write
that names a log dir itself does not use a table. Source: ours; Spark 4.3: PythonTableProvider,
V2WriteCommand.outputResolved.
"""

from collections.abc import Collection, Mapping
from urllib.parse import unquote

from pyspark.sql.types import StructType

_KEY = "kminilog.options"
_ONLY_OF_TABLES = "provider"  # Spark passes it for CREATE TABLE only
_OPTION = "option."


def defined_options(options: Mapping[str, str]) -> dict[str, str] | None:
    """Return the OPTIONS and the LOCATION of CREATE TABLE; None for any other statement."""
    if _ONLY_OF_TABLES not in options:
        return None
    by_lower_case = {name.lower(): text for name, text in options.items()}
    given = {
        name.removeprefix(_OPTION): text
        for name, text in by_lower_case.items()
        if name.startswith(_OPTION)
    }
    if "path" in by_lower_case:  # of LOCATION or of OPTIONS; Spark has made it a URI
        given["path"] = unquote(by_lower_case["path"])
    return given


def keep_options(schema: StructType, options: Mapping[str, str]) -> StructType:
    """Return the schema, after putting the options of a table into each of its columns."""
    for field in schema.fields:
        field.metadata = {_KEY: dict(options)}
    return schema


def kept_options(options: Mapping[str, str], schema: StructType) -> dict[str, str] | None:
    """Return the options of the table that a read or a write uses; None if it uses none."""
    kept = [dict(field.metadata.get(_KEY, {})) for field in schema.fields]
    if "path" in options or not kept or any(theirs != kept[0] for theirs in kept):
        return None
    return kept[0] or None


def options_in_use(
    options: Mapping[str, str], schema: StructType, names: Collection[str]
) -> dict[str, str]:
    """Return the options of a read or a write, completed with those of its table.

    Its own options win. A table has options for both reads and writes, so only the table's options
    that are in `names` are taken.
    """
    wanted = {name.lower() for name in names}
    kept = kept_options(options, schema) or {}
    over = {name.lower(): text for name, text in options.items()}
    return {name: text for name, text in kept.items() if name in wanted} | over
