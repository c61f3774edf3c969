"""Words of Kafka's tools and of kcat, and the kminilog words for them.

    kminilog consume orders -n 5        No such option '-n': write `--max-messages N`
    kminilog help                       No such command 'help': write `kminilog --help`

Only words that kminilog refuses stand here, and each answer names an option or a command in
backquotes. `docs/kafka-tools.md` compares command by command. Source: ours; Kafka's scripts in
`bin/`; kcat's help text.
"""

from collections.abc import Mapping

import click

_BROKERS = "write `kminilog --log-dir DIR` or `kminilog --cluster DIR`, and then the command"
_CONFIG = "write `--config NAME=VALUE`"
_BARE_TOPIC = "write the topic alone, without an option: `{command} TOPIC`"
_BARE_GROUP = "write the group alone, without an option: `{command} GROUP`"
_BARE_FILE = "write the file alone, without an option: `{command} FILE`"
_NO_TIMES = "messages of format version 0 have no time: name an offset with `--to OFFSET`"

EVERYWHERE: Mapping[str, str] = {
    "-b": _BROKERS,
    "--bootstrap-server": _BROKERS,
    "--broker-list": _BROKERS,
    "--zookeeper": _BROKERS,
}
"""Options by what they are answered with, in every command."""

BEFORE_COMMANDS: Mapping[str, str] = {
    "--log-dir": "--log-dir DIR",
    "--cluster": "--cluster DIR",
    "--debug": "--debug",
}
"""Options of `kminilog` itself, as they stand before a command."""

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "kminilog": {
        "-C": "write `kminilog consume TOPIC`",
        "-P": "write `kminilog produce TOPIC`",
        "-L": "write `kminilog topic list`",
        "-G": "write `kminilog consume TOPIC --group G`",
        "-V": "write `kminilog --version`",
    },
    "kminilog consume": {
        "-n": "write `--max-messages N`",
        "-c": "write `--max-messages N`",
        "-o": "write `--offset N`, or `--tail N` for N messages before the end",
        "-e": "write `--until-end`",
        "-p": "write `--partition P`",
        "-f": "write `--format F`, with the same letters",
        "-K": "write `--print-key`",
        "-J": "write `--json`",
        "-G": "write `--group G`",
        "-t": _BARE_TOPIC,
        "--topic": _BARE_TOPIC,
        "--from-beginning": "leave it out: without `--offset latest` the earliest message is first",
        "--whitelist": "write `--pattern REGEX`",
        "--include": "write `--pattern REGEX`",
        "--property": "write `--print-key`, or `--format F` for more",
        "--formatter": "write `--format F`",
        "--timeout-ms": "write `--config consumer.timeout.ms=N`",
        "--consumer-property": _CONFIG,
        "-X": _CONFIG,
    },
    "kminilog produce": {
        "-t": _BARE_TOPIC,
        "--topic": _BARE_TOPIC,
        "-p": "write `--partition N`",
        "-K": "write `--key-separator S`",
        "-k": "write the key before each value, and `--key-separator S`",
        "-l": _BARE_FILE.replace("FILE`", "TOPIC FILE`"),
        "-Z": "write `--null-value TOKEN`",
        "--property": "write `--key-separator S` for parse.key and key.separator",
        "--producer-property": _CONFIG,
        "-X": _CONFIG,
        "--request-required-acks": "write `--acks N`",
        "--batch-size": "write `--config batch.size=N`",
    },
    "kminilog topic": {
        "--create": "write `kminilog topic create NAME --partitions N`",
        "--list": "write `kminilog topic list`",
        "--describe": "write `kminilog topic describe NAME`",
        "--alter": "write `kminilog topic alter NAME`",
        "--delete": "write `kminilog topic delete NAME --yes`",
    },
    "kminilog topic create": {
        "--topic": _BARE_TOPIC.replace("TOPIC", "NAME"),
        "--replication-factor": "write `--replicas R`",
    },
    "kminilog topic describe": {"--topic": _BARE_TOPIC.replace("TOPIC", "NAME")},
    "kminilog topic alter": {
        "--topic": _BARE_TOPIC.replace("TOPIC", "NAME"),
        "--add-config": _CONFIG,
    },
    "kminilog topic delete": {"--topic": _BARE_TOPIC.replace("TOPIC", "NAME")},
    "kminilog group": {
        "--list": "write `kminilog group list`",
        "--describe": "write `kminilog group describe GROUP`",
        "--group": "write `kminilog group describe GROUP`",
        "--reset-offsets": "write `kminilog group reset GROUP --to earliest`",
        "--delete": "write `kminilog group delete GROUP`",
    },
    "kminilog group describe": {"--group": _BARE_GROUP},
    "kminilog group delete": {"--group": _BARE_GROUP, "--execute": "write `--yes`"},
    "kminilog group reset": {
        "--group": _BARE_GROUP,
        "--to-earliest": "write `--to earliest`",
        "--to-latest": "write `--to latest`",
        "--to-offset": "write `--to OFFSET`",
        "--shift-by": "write `--to OFFSET`, or `--to -N` for N messages before the log end",
        "--to-datetime": _NO_TIMES,
        "--by-duration": _NO_TIMES,
        "--all-topics": "leave it out: without `--topic T` all are reset that the group has read",
        "--execute": "write `--yes`",
        "--dry-run": "leave it out: without `--yes` nothing is changed",
    },
    "kminilog dump": {
        "--files": _BARE_FILE,
        "--print-data-log": "write `--print-data`",
        "--deep-iteration": "write `--deep`",
        "--index-sanity-check": "write `kminilog verify`",
        "--verify-index-only": "write `kminilog verify`",
    },
}
"""Options by command, by what they are answered with."""

COMMANDS: Mapping[str, str] = {
    "kafka-topics": "write `kminilog topic`",
    "kafka-configs": "write `kminilog topic alter NAME --config NAME=VALUE`",
    "kafka-console-producer": "write `kminilog produce TOPIC`",
    "kafka-console-consumer": "write `kminilog consume TOPIC`",
    "kafka-consumer-groups": "write `kminilog group`",
    "kafka-dump-log": "write `kminilog dump FILE`",
    "kafka-get-offsets": "write `kminilog topic describe NAME`",
    "kafka-run-class": "write `kminilog topic describe NAME` for GetOffsetShell, "
    "`kminilog dump FILE` for DumpLogSegments",
    "kafka-delete-records": "no message is deleted alone: write "
    "`kminilog topic alter NAME --config NAME=VALUE` for retention.ms or retention.bytes, then "
    "`kminilog retain`",
    "kafka-server-start": "write `kminilog cluster create DIR --brokers N`: there is no server",
    "kcat": "write `kminilog consume TOPIC` or `kminilog produce TOPIC`",
    "kafkacat": "write `kminilog consume TOPIC` or `kminilog produce TOPIC`",
}


def local_word(error: click.UsageError, called: str) -> str:
    """Return what to write in place of an unknown option or command; empty if nobody knows.

    `called` is the command as far as it is known, such as "kminilog topic".
    """
    option = getattr(error, "option_name", None)
    if isinstance(error, click.NoSuchOption) and option:
        if option in BEFORE_COMMANDS:
            name = called.removeprefix("kminilog ")
            return f"write it before the command: `kminilog {BEFORE_COMMANDS[option]} {name}`"
        known = {**EVERYWHERE, **OPTIONS.get(called, {})}
        return known.get(option, "").format(command=called)
    given = getattr(error, "command_name", None)
    if given == "help":
        return f"write `{called} --help`, or `{called} COMMAND --help` for one command"
    return COMMANDS.get((given or "").removesuffix(".sh"), "")
