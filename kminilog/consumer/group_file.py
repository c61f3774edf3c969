"""A group as a file: `<log dir>/.groups/<group>.json`.

    {"group": "readers", "state": "Stable", "generation": 3, "strategy": "range",
     "partitions": {"orders": 2},
     "members": [{"id": "consumer-5d2c81f0", "topics": ["orders"], "session_timeout_ms": 10000,
                  "heard_ms": 1700000000000, "instance_id": null, "owned": [],
                  "is_waiting": false, "is_told": false}],
     "assignment": {"consumer-5d2c81f0": ["orders-0", "orders-1"]},
     "committed": {"orders-0": 17},
     "topic_ids": {"orders": "mnwWBMMJ1r5yq4w8sFP1hA"}}

A committed offset counts only in the topic that it was read from. `topic_ids` names it; a topic
without an id is not named, nor is any in the file of an earlier release, which knew no ids.
The file is replaced atomically, so a reader needs no lock and sees one whole state. The coordinator
holds the lock that a writer needs. A group id is the name of a file, so it follows the rules for
topics. Source: ours; Kafka keeps members in ZooKeeper or in the memory of a coordinator, committed
offsets in ZooKeeper or in the topic __consumer_offsets.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kminilog.consumer.errors import InvalidGroupError, UnknownGroupError
from kminilog.consumer.group import EMPTY, PREPARING, STABLE, Group
from kminilog.consumer.members import KnownMember
from kminilog.errors import InvalidTopicError
from kminilog.format.names import TopicPartition, check_topic, parse_topic_partition
from kminilog.settings import INT32_MAX
from kminilog.storage.durable_files import replace_file
from kminilog.storage.files import sync
from kminilog.storage.json_file import number, read_json, typed

GROUPS_DIR = ".groups"
GROUP_SUFFIX = ".json"
_REMEDY = "mend it, or move it away: then the group begins anew, without its committed offsets"
MAX_GROUP_LENGTH = 200  # with suffixes a file name still has less than the usual 255 bytes


def check_group(group: str) -> None:
    """Raise InvalidGroupError if a group cannot have this id.

    >>> check_group("readers")
    >>> check_group("")
    Traceback (most recent call last):
    ...
    kminilog.consumer.errors.InvalidGroupError: illegal group id '': empty, '.' and '..' are not \
names
    """
    try:
        check_topic(group)
    except InvalidTopicError as error:
        raise InvalidGroupError(group, reason=error.reason) from None
    if len(group) > MAX_GROUP_LENGTH:
        raise InvalidGroupError(group, reason=f"longer than {MAX_GROUP_LENGTH} characters")


def group_names(log_dir: Path) -> list[str]:
    """Return the ids of all groups of a log dir, sorted; OSError if they cannot be listed."""
    try:
        names = os.listdir(log_dir / GROUPS_DIR)
    except FileNotFoundError:
        return []  # no group yet
    return sorted(name.removesuffix(GROUP_SUFFIX) for name in names if name.endswith(GROUP_SUFFIX))


def read_group(log_dir: Path, name: str) -> Group:
    """Return a group as it was last written.

    Raises UnknownGroupError, InvalidGroupError, and LogDirError if its file is broken.
    """
    check_group(name)
    path = log_dir / GROUPS_DIR / (name + GROUP_SUFFIX)

    def parse(document: Any) -> Group:
        group = from_json(typed(document, dict))
        if group.name != name:
            raise ValueError(f"it names the group {group.name!r}")
        return group

    try:
        return read_json(path, parse, what="state of a group", remedy=_REMEDY)
    except FileNotFoundError:
        raise UnknownGroupError(name) from None


def write_group(log_dir: Path, group: Group) -> None:
    """Write a group's file; once it returns, it survives a power failure."""
    data = json.dumps(to_json(group), indent=2) + "\n"
    replace_file(log_dir / GROUPS_DIR / (group.name + GROUP_SUFFIX), data.encode())


def remove_group(log_dir: Path, name: str) -> None:
    """Delete a group's file; once it returns, the file is gone for good. FileNotFoundError."""
    directory = log_dir / GROUPS_DIR
    (directory / (name + GROUP_SUFFIX)).unlink()
    sync(directory)


def to_json(group: Group) -> dict[str, Any]:
    """Return what the file holds."""
    return {
        "group": group.name,
        "state": group.state,
        "generation": group.generation,
        "strategy": group.strategy,
        "partitions": group.partitions,
        "members": [
            {**vars(member), "topics": list(member.topics), "owned": to_names(member.owned)}
            for member in group.members.values()
        ],
        "assignment": {
            member: to_names(partitions) for member, partitions in group.assignment.items()
        },
        "committed": {str(partition): offset for partition, offset in group.committed.items()},
        "topic_ids": group.topic_ids,
    }


def from_json(facts: Mapping[str, Any]) -> Group:
    """Return the group that `to_json` told of.

    Raises KeyError, TypeError, AttributeError, ValueError or InvalidTopicError for facts that tell
    of none.
    """
    members = [_member_from_json(member) for member in typed(facts["members"], list)]
    group = Group(
        name=typed(facts["group"], str),
        state=typed(facts["state"], str),
        generation=number(facts["generation"]),
        strategy=typed(facts["strategy"], str),
        partitions={name: number(count) for name, count in facts["partitions"].items()},
        members={member.id: member for member in members},
        assignment={member: from_names(names) for member, names in facts["assignment"].items()},
        committed={from_name(n): number(offset) for n, offset in facts["committed"].items()},
        topic_ids={name: typed(known, str) for name, known in facts.get("topic_ids", {}).items()},
    )
    for name in group.partitions:
        check_topic(name)
    if not group.topic_ids.keys() <= {partition.topic for partition in group.committed}:
        raise ValueError("it has a topic id without a committed offset")
    if len(group.members) < len(members):
        raise ValueError("a member stands in it twice")
    if group.state not in (EMPTY, PREPARING, STABLE):
        raise ValueError(f"{group.state!r} is no state")
    if (group.state == EMPTY) != (not group.members):
        raise ValueError(f"{group.state} with {len(group.members)} members")
    if group.state == STABLE and group.assignment.keys() != group.members.keys():
        raise ValueError("the assignment is not that of the members")
    return group


def _member_from_json(facts: Mapping[str, Any]) -> KnownMember:
    return KnownMember(
        id=typed(facts["id"], str),
        topics=tuple(map(_topic, typed(facts["topics"], list))),
        session_timeout_ms=number(facts["session_timeout_ms"], 1, INT32_MAX),
        heard_ms=number(facts["heard_ms"]),
        instance_id=None if facts["instance_id"] is None else typed(facts["instance_id"], str),
        owned=from_names(facts["owned"]),
        is_waiting=typed(facts["is_waiting"], bool),
        is_told=typed(facts["is_told"], bool),
    )


def to_names(partitions: Iterable[TopicPartition]) -> list[str]:
    """Return partitions as a file names them."""
    return [str(partition) for partition in partitions]


def from_names(names: Any) -> tuple[TopicPartition, ...]:
    """Return the partitions that a file names; ValueError if it names none.

    >>> from_names(["page-views-7"])
    (TopicPartition(topic='page-views', partition=7),)
    """
    return tuple(from_name(name) for name in typed(names, list))


def from_name(name: Any) -> TopicPartition:
    """Return the partition that a text names; ValueError or InvalidTopicError if it names none."""
    found = parse_topic_partition(typed(name, str))
    if found is None:
        raise ValueError(f"{name!r} names no partition")
    check_topic(found.topic)
    return found


def _topic(name: Any) -> str:
    check_topic(typed(name, str))
    return str(name)
