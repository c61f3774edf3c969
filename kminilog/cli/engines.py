"""Which engine runs a job: this process, or Spark.

local   this process reads the source
spark   tasks of Spark read it
auto    local if the source is small; spark if it is large, if --master is given, or if a session
        runs in this process already
"""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kminilog.jobs.source.description import Source

LOCAL_BYTES = 64 << 20
"""A source up to this size takes less time here than Spark takes to start."""

_COMPRESSED_FACTOR = 8  # a compressed file is about so many times as long

engine_option = click.option(
    "--engine",
    type=click.Choice(["auto", "local", "spark"]),
    default="auto",
    show_default=True,
    help="Engine that does the work: this process (local) or Spark. auto takes this process for a "
    "source of up to 64 MiB; a compressed file counts eight times its size.",
)


def engine_for(asked: str, source: "Source | None", master: str | None) -> str:
    """Return "local" or "spark"; without a source, auto is local.

    O(files). Raises SourceError for a source that is not there, and click's UsageError for
    --master beside --engine local.
    """
    if master is not None and asked == "local":
        raise click.UsageError("--master is about Spark: leave it out, or give --engine spark")
    if asked != "auto":
        return asked
    if source is None:
        return "local" if master is None else "spark"
    is_here = master is None and not _is_session_running() and _is_small(source)
    return "local" if is_here else "spark"


def _is_small(source: "Source") -> bool:
    from kminilog.jobs.source.compression import compression_of
    from kminilog.jobs.source.description import files_of

    files = files_of(source)
    is_parquet = source.format == "parquet"  # it compresses pages, if at all, not the file
    total_bytes = sum(
        file.size_bytes * (1 if is_parquet or not compression_of(file.path) else _COMPRESSED_FACTOR)
        for file in files
    )
    return total_bytes <= LOCAL_BYTES


def _is_session_running() -> bool:
    from kminilog.jobs.spark.runtime.session import existing_session

    return existing_session() is not None
