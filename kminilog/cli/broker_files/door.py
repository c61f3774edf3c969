"""The commands for a Kafka broker's log directory, in the place of those of the same names.

    kminilog --log-dir /var/lib/kafka ls        the command `ls` of this folder
    kminilog --log-dir /var/lib/kafka produce   refused: nobody but the broker writes there
    kminilog dump /var/lib/kafka/orders-0/0….log    of this folder, whatever the log dir is

`cli.main` asks here, in one place, before it calls a command. Source: ours.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click

from kminilog.broker_files.directory import broker_directory_of, is_broker_directory
from kminilog.broker_files.untouched import read_untouched
from kminilog.cli.shared.topic_files import partition_of_file
from kminilog.errors import LogDirError
from kminilog.format.names import LOG_SUFFIX
from kminilog.storage.segment.whole_messages import is_later, whole_messages

READING = ("ls", "find", "dump", "consume", "verify")
WRITING = ("topic", "produce", "recover", "retain", "compact", "ingest", "group", "serve")
_ONLY_BROKERS_FILES = (".timeindex", ".txnindex", ".snapshot")
_MAGIC_AT = 16


def command_for(ctx: click.Context, name: str | None, words: Sequence[str]) -> click.Command | None:
    """Return what is called in place of a command; None if the command itself is called.

    `words` are those after its name.
    """
    if name not in (*READING, *WRITING) or ctx.params.get("cluster"):
        return None
    log_dir: Path = ctx.params["log_dir"]
    if name == "dump" and "--dialect" not in words and "--format" not in words:
        files = [Path(word) for word in words if os.path.isfile(word)]
        is_brokers = any(map(_is_brokers_file, files)) if files else is_broker_directory(log_dir)
    else:
        is_brokers = name != "dump" and is_broker_directory(log_dir)
    if not is_brokers:
        return None
    if name in READING:
        command: click.Command = import_module(f"kminilog.cli.broker_files.{name}").command
        return command
    return None if {"--help", "-h"} & {*words} else _refusal(name, log_dir)


def _is_brokers_file(path: Path) -> bool:
    """Tell if a broker wrote this file: by its directory, its ending, or the magic in it.

    Rubbish may stand in front of the first message.
    """
    if broker_directory_of(path) or path.suffix in _ONLY_BROKERS_FILES:
        return True
    if path.suffix != LOG_SUFFIX or partition_of_file(path):
        return False
    if read_untouched(path, _MAGIC_AT + 1)[_MAGIC_AT:] in (b"\1", b"\2"):
        return True
    _, whole = next(whole_messages(path), (0, None))
    return whole is not None and is_later(whole.magic)


def _refusal(name: str | None, log_dir: Path) -> click.Command:
    """Return a command that takes any words, and raises LogDirError."""

    def refuse(words: tuple[str, ...]) -> None:
        reason = "a Kafka broker's directory, which is read-only here; these commands read it: "
        raise LogDirError(str(log_dir), reason=reason + ", ".join(READING))

    return click.Command(
        name,
        callback=refuse,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
    )
