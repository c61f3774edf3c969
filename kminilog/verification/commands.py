"""For each finding, the shell command that shows it.

    a message that is valid       find TOPIC-P OFFSET --explain     every step of the search
    damage, or a wrong offset     dump SEGMENT.log --at B --hex     its fields and its bytes
    an entry of an index          dump SEGMENT.index --at B         and what the log has there
    a file without a known byte   dump SEGMENT.log --hex
    a file too many or too few,   recover TOPIC-P --dry-run         and what recovery would do
    or a lost end
    a record that is not stored   verify TOPIC --against SOURCE     with its line or row
    a range of messages           consume TOPIC --partition P       their keys and values
    anything else                 verify TOPIC

The tests run every one of these commands. Source: ours.
"""

import shlex
from collections.abc import Mapping
from typing import Any

from kminilog.errors import command_words
from kminilog.format.names import LOG_SUFFIX, TopicPartition
from kminilog.storage.publish.fingerprints import RANGE_MESSAGES
from kminilog.verification.findings import Finding, FindingClass

_READING = {
    "key": "--key",
    "key_regex": "--key-regex",
    "value": "--value",
}


def showing_command(finding: Finding, scope: Mapping[str, Any]) -> str:
    """Return the `kminilog` command line for a finding; `scope` is that of the report.

    >>> name = "00000000000000000000"
    >>> found = Finding(FindingClass.BAD_CRC, "orders", 0, "", name, offset=5, position=170)
    >>> showing_command(found, {"log_dir": "my logs"})
    "kminilog dump 'my logs/orders-0/00000000000000000000.log' --at 170 --hex"
    """
    command, names, options = _words(finding, scope)
    place = [] if command == "dump" else ["--log-dir", str(scope.get("log_dir", "."))]
    words = command_words(command, names, options)
    return " ".join(map(quoted, [*words[:1], *place, *words[1:]]))


def quoted(word: str) -> str:
    r"""Return a word quoted for a shell; by bash's `$'...'` if it is not printable.

    >>> print(quoted("a b"), quoted("a\x1b'b"))
    'a b' $'a\x1b\x27b'
    """
    if word.isprintable():
        return shlex.quote(word)
    data = word.encode("utf-8", "surrogateescape")
    plain = (chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else None for byte in data)
    return "$'" + "".join(c or f"\\x{b:02x}" for c, b in zip(plain, data, strict=True)) + "'"


def _words(finding: Finding, scope: Mapping[str, Any]) -> tuple[str, list[str], list[str]]:
    """Return the command, the names that it takes, and its options."""
    topic, partition = finding.topic, str(TopicPartition(finding.topic, finding.partition))
    is_of_files = (scope.get("against") or {}).get("format") != "dataframe"
    if finding.kind == FindingClass.MISSING and is_of_files:
        return "verify", [topic], _against(scope)
    if finding.kind.shown_by == "recover":
        return "recover", [partition], ["--dry-run"]
    if finding.kind.shown_by == "verify" or finding.segment is None:
        return "verify", [topic], []
    if finding.kind == FindingClass.ALTERED and finding.source is None:
        at = ["--partition", str(finding.partition), "--offset", str(finding.offset)]
        count = 2 if finding.last_offset is None else RANGE_MESSAGES
        end = ["--max-messages", str(count), "--config", "consumer.timeout.ms=1000"]
        return "consume", [topic], [*at, *end, "--json"]
    if finding.kind.shown_by == "find":
        if finding.offset is None:
            return "recover", [partition], ["--dry-run"]  # the index file is missing
        return "find", [partition, str(finding.offset)], ["--explain"]
    file = f"{scope.get('log_dir', '.')}/{partition}/{finding.segment}"
    file += finding.kind.suffix
    if scope.get("broker") and finding.position is None:
        return "verify", [topic], []  # of a file that is not there
    at = [] if finding.position is None else ["--at", str(finding.position)]
    has_bytes = file.endswith(LOG_SUFFIX) or not at
    return "dump", [file], [*at, *["--hex"] * has_bytes]


def _against(scope: Mapping[str, Any]) -> list[str]:
    source = scope.get("against") or {}
    paths = (f"./{path}" if path.startswith("-") else path for path in source.get("paths", []))
    words = ["--against", *paths]
    if source.get("format", "text") != "text":
        words += ["--format", source["format"]]
    for name, option in _READING.items():
        if source.get(name) is not None:
            words += [option, source[name]]
    if not source.get("header", True):
        words.append("--no-header")
    for name, option in (("partitioner", "--partitioner"), ("job", "--job")):
        if scope.get(name):
            words += [option, scope[name]]
    return words
