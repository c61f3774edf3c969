"""`produce --stats`: batches, how full they were, records by partition, retries, waits for memory.

So round robin's many small batches and a sticky partitioner's few full ones are seen.
`bufferpool-wait-time` is the sum of all waits for memory, in nanoseconds; `bufferpool-wait-ratio`
is their share of the last 30 seconds. Source: S0 4 and 5, S2 1.
"""

from typing import Any

from kminilog.cli.output import write_line, write_lines, write_record
from kminilog.producer.batch_counts import Counts
from kminilog.producer.buffer_pool import WAIT_RATIO, WAIT_SENSOR
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.producer import METRIC_GROUP
from kminilog.storage.topics import Topic
from kminilog.text import table


def write_stats(producer: ManualProducer, topic: Topic, *, as_json: bool) -> None:
    """Write what a producer, which is closed, has measured while it sent to one topic."""
    counts = producer.batch_counts
    total = counts.total()
    by_partition = {place: counts.of(place) for place in topic.all_partitions()}
    retries = producer.report.retries
    wait_ns = producer.metrics.sensor(WAIT_SENSOR).total_ns
    ratio = producer.metrics.value(WAIT_RATIO, METRIC_GROUP)
    if as_json:
        fields = {
            **_fields(total),
            "retries": retries,
            "bufferpool_wait_time_ns": wait_ns,
            "bufferpool_wait_ratio": ratio,
            "partitions": [
                {"partition": place.partition, **_fields(found)}
                for place, found in by_partition.items()
            ],
        }
        write_record({"stats": fields})
        return
    rows = [_row(str(place), found) for place, found in by_partition.items()]
    write_lines(
        table(["partition", "batches", "records", "mean fill"], [*rows, _row("all", total)])
    )
    write_line(f"retries: {retries}")
    write_line(f"{WAIT_SENSOR}: {wait_ns} ns")
    write_line(f"{WAIT_RATIO}: {ratio:.6f}")


def _fields(counts: Counts) -> dict[str, Any]:
    return {
        "batches": counts.batches,
        "records": counts.records,
        "mean_fill": counts.mean_fill,
    }


def _row(name: str, counts: Counts) -> list[Any]:
    fill = counts.mean_fill
    shown = "-" if fill is None else f"{fill:.1%}"
    return [name, counts.batches, counts.records, shown]
