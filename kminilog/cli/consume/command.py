"""`kminilog consume`: print the messages of one topic or of several, and wait for more.

It reads the partitions in turn. It ends after `--max-messages`, at the end of the logs with
`--until-end`, or when no message has come for consumer.timeout.ms, with exit code 0 each time; 1 if
a log has lost its start or its end, by what is on record: then stderr has a line. With
`--group` it reads a share of the partitions: processes with the same group divide them, and those
of a killed process go to the others. It commits what it has written to stdout; the next owner of
the partition reads the rest again. Order holds inside a partition only. A gap is damage, unless
gaps are allowed; then stderr has a line for each gap. Source: S3; Kafka: ConsoleConsumer; kcat.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import click
from click.core import ParameterSource

from kminilog.cli.consume.options import (
    format_option,
    line_writer,
    place_options,
    print_key_option,
    raw_option,
)
from kminilog.cli.consume.record_lines import write_json
from kminilog.cli.consume.run import ConsumeRun, Wanted
from kminilog.cli.shared.cluster_option import topics_at
from kminilog.cli.shared.clusters import source_of, with_leader
from kminilog.cli.shared.group_offsets import coordinator_of
from kminilog.cli.shared.options import (
    allow_gaps_option,
    config_option,
    example,
    json_option,
    key_option,
)
from kminilog.cli.shared.output import Broken, is_terminal, warn_all
from kminilog.clock import Clock
from kminilog.config import parse_config
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.group_file import check_group
from kminilog.consumer.group_moves import EARLIEST, LATEST, offset_of
from kminilog.consumer.interface import MessageSource
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.errors import KMiniLogError, OffsetOutOfRangeError, in_words, typed
from kminilog.format.names import TopicPartition
from kminilog.plugins import look_in_current_directory
from kminilog.regex import compile_regex
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.notices import OnGap
from kminilog.storage.topics import TOPIC_SUFFIX, Topic
from kminilog.system import SystemClock

_MOST_STREAMS = 100


@click.command("consume", epilog=example("kminilog consume orders --print-key --max-messages 3"))
@place_options
@key_option("Print only messages with this key. All are read: a log has no index of keys.")
@click.option(
    "--group",
    metavar="G",
    help="Consumer group to join: the group assigns a share of the partitions.",
)
@click.option(
    "--streams",
    "streams_count",
    type=click.IntRange(1, _MOST_STREAMS),
    metavar="N",
    help="Number of threads that read, each a member of the group.  [default: none, one member]",
)
@print_key_option
@format_option("%K and %S their lengths")
@raw_option
@allow_gaps_option
@config_option("Setting of the consumer, e.g. consumer.timeout.ms=1000. Repeatable.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    topic: str | None,
    pattern: str | None,
    partition: int | None,
    start: int | str,
    tail: int | None,
    is_until_end: bool,
    max_messages: int | None,
    key: bytes | None,
    group: str | None,
    streams_count: int | None,
    print_key: bool,
    line_format: str | None,
    is_raw: bool,
    on_gap: OnGap | None,
    config: tuple[str, ...],
    as_json: bool,
) -> int:
    """Print the messages of TOPIC, and wait for more."""
    is_start_given = ctx.get_parameter_source("start") is not ParameterSource.DEFAULT
    if tail is not None and is_start_given:
        raise click.UsageError("--tail and --offset both say where to start: give one of them")
    write = line_writer(
        line_format,
        write_json if as_json else None,
        print_key=print_key,
        is_escaping=is_terminal() and not is_raw,
    )
    log_dir = topics_at(ctx.obj)
    clock, broken = SystemClock(), Broken()
    open_source = partial(source_of, log_dir, on_gap=on_gap, on_loss=broken.lost)
    source = open_source()
    topics = chosen_topics(log_dir, topic, pattern, broken)
    settings = parse_config(config, CONSUMER_SETTINGS)
    group = settings.get("group.id") or None if group is None else group
    told = str(start) if group is not None and is_start_given else None
    wanted = Wanted(max_messages, is_until_end, key, told)
    run = ConsumeRun(source, write, wanted, clock)
    if streams_count is not None and (group is None or is_until_end):
        raise click.UsageError(_STREAMS_NEED_NO_END if group else _STREAMS_NEED_A_GROUP)
    if group is not None:
        check_group(group)
        if partition is not None or isinstance(start, int) or tail is not None:
            where = "TOPIC" if topic is None else topic
            where += "" if partition is None else f":{partition}"
            first = typed("group reset", group, options=f"--topic {where} --to N --yes")
            raise click.UsageError(_GROUP_SHARES.format(first))
    if group is None:
        if tail is not None:
            start = -tail or LATEST
        partitions = with_leader(log_dir, chosen_partitions(topics, partition))
        if pattern is not None:
            partitions = readable(source, partitions, broken)
            if not partitions:
                return broken.exit_code
        consumer = _reader(source, partitions, settings, start, run, clock)
    else:
        look_in_current_directory()
        settings = {"auto.offset.reset": start, **settings, "group.id": group}
        subscribe = _subscription(topics, pattern)
        if streams_count is not None:
            from kminilog.cli.consume.streams import consume_streams

            consume_streams(
                streams_count, log_dir, subscribe, settings, write, wanted, clock, open_source
            )
            return broken.exit_code
        consumer = _member(log_dir, source, subscribe, settings, run, clock)
    run.run(consumer)
    return broken.exit_code


_STREAMS_NEED_A_GROUP = "--streams needs --group: the group assigns the partitions to the streams"
_STREAMS_NEED_NO_END = (
    "--streams has no --until-end: to stop, give --config consumer.timeout.ms=MS or --max-messages"
)
_GROUP_SHARES = (
    "a group assigns partitions, and starts at its committed offsets: leave out --partition, "
    "--offset N and --tail; first {}, then `consume`"
)


def _reader(
    source: MessageSource,
    partitions: list[TopicPartition],
    settings: dict[str, Any],
    start: int | str,
    run: ConsumeRun,
    clock: Clock,
) -> Consumer:
    """A consumer of these partitions, without a group."""
    if isinstance(start, int) and start >= 0 and len(partitions) > 1:
        raise click.UsageError("an offset belongs to one partition: name it with --partition")
    config = {"auto.offset.reset": "none", **settings}
    consumer = Consumer(source, config, clock=clock, on_reset=run.on_reset)
    consumer.assign(partitions)
    for found in partitions:
        if start == EARLIEST:
            consumer.seek(found, source.beginning(found))
        else:
            end = source.end(found)
            consumer.seek(found, offset_of(start, source.beginning(found), end))
    return consumer


def _member(
    log_dir: LogDir,
    source: MessageSource,
    subscribe: Callable[[Consumer], object],
    settings: dict[str, Any],
    run: ConsumeRun,
    clock: Clock,
) -> Consumer:
    """A consumer of a share of the topics that it is to subscribe to."""
    run.is_committing = settings.get("enable.auto.commit", True)
    consumer = Consumer(
        source,
        {**settings, "enable.auto.commit": False},
        clock=clock,
        coordinator=coordinator_of(log_dir, source),
        on_assigned=run.on_assigned,
        on_revoked=run.on_revoked,
        on_lost=run.on_lost,
        on_reset=run.on_reset,
    )
    subscribe(consumer)
    return consumer


def _subscription(topics: list[Topic], pattern: str | None) -> Callable[[Consumer], object]:
    """Return what subscribes a consumer to these topics, or to all that match, later ones too."""
    if pattern is not None:
        return lambda consumer: consumer.subscribe(pattern=pattern)
    return lambda consumer: consumer.subscribe([found.name for found in topics])


# ---- which topics and partitions


def chosen_topics(
    log_dir: LogDir, topic: str | None, pattern: str | None, broken: Broken
) -> list[Topic]:
    """Return the topic of this name, or all whose whole name matches the pattern.

    Each settings file that is broken is named. Then `broken` has the exit code 2 if one of them is
    that of a topic which matches. Raises UsageError, and ValueError if no topic matches.
    """
    if (topic is None) == (pattern is None):
        raise click.UsageError("name one TOPIC, or several with --pattern")
    if topic is not None:
        return [log_dir.topic(topic)]
    matches = compile_regex(pattern or "", "--pattern").fullmatch
    errors: list[KMiniLogError | OSError] = []
    topics = log_dir.topics(errors.append)
    if errors:
        warn_all(map(in_words, errors))
        paths = log_dir.path.glob(f"*{TOPIC_SUFFIX}")
        files = {path.name.removesuffix(TOPIC_SUFFIX) for path in paths}
        if any(map(matches, files - {known.name for known in topics})):
            broken.exit_code = 2
    found = [known for known in topics if matches(known.name)]
    if not found:
        raise ValueError(f"no topic matches {pattern!r}; `kminilog topic list` shows all there are")
    return found


def chosen_partitions(topics: Iterable[Topic], partition: int | None) -> list[TopicPartition]:
    """Return the partition with this number of each topic, or all partitions."""
    if partition is not None:
        return [topic.partition(partition) for topic in topics]
    return [found for topic in topics for found in topic.all_partitions()]


def readable(
    source: MessageSource, partitions: Iterable[TopicPartition], broken: Broken
) -> list[TopicPartition]:
    """Return the partitions that can be read at both ends; `broken` gets the errors of others."""
    found = []
    for partition in partitions:
        try:
            source.end(partition)
            source.fetch(partition, source.beginning(partition), 1)
        except OffsetOutOfRangeError:
            pass  # retention is at work
        except (KMiniLogError, OSError) as error:
            broken(error)
            continue
        found.append(partition)
    return found
