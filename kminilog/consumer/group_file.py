"""A group as a file: `<log dir>/.groups/<group>.json`.

    {"group": "readers", "state": "Stable", "generation": 3, "strategy": "range",
     "partitions": {"orders": 2},
     "members": [{"id": "consumer-5d2c81f0", "topics": ["orders"], "session_timeout_ms": 10000,
                  "heard_ms": 1700000000000, "instance_id": null, "owned": [],
                  "is_waiting": false, "is_told": false}],
     "assignment": {"consumer-5d2c81f0": ["orders-0", "orders-1"]},
     "committed": {"orders-0": 17}}

The file is replaced as a whole, so a reader needs no lock and sees all of one state or all of
another. Who may write is decided elsewhere. A group id is the name of a file, so it keeps to the
rules for topics. Source: ours; Kafka keeps members in ZooKeeper or in the memory of a coordinator,
committed offsets in ZooKeeper or in the topic __consumer_offsets.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kminilog.consumer.errors import InvalidGroupError, UnknownGroupError
from kminilog.consumer.group import EMPTY, PREPARING, STABLE, Group
from kminilog.consumer.members import KnownMember, from_name, from_names, to_names
from kminilog.errors import InvalidTopicError
from kminilog.format.names import check_topic
from kminilog.storage.durable_file import replace_file
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
    """Return the ids of all groups of a log dir, sorted."""
    files = (log_dir / GROUPS_DIR).glob(f"*{GROUP_SUFFIX}")
    return sorted(path.name.removesuffix(GROUP_SUFFIX) for path in files)


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


def to_json(group: Group) -> dict[str, Any]:
    """Return what the file holds."""
    return {
        "group": group.name,
        "state": group.state,
        "generation": group.generation,
        "strategy": group.strategy,
        "partitions": group.partitions,
        "members": [member.to_json() for member in group.members.values()],
        "assignment": {
            member: to_names(partitions) for member, partitions in group.assignment.items()
        },
        "committed": {str(partition): offset for partition, offset in group.committed.items()},
    }


def from_json(facts: Mapping[str, Any]) -> Group:
    """Return the group that `to_json` told of.

    Raises KeyError, TypeError, AttributeError, ValueError or InvalidTopicError for facts that tell
    of none.
    """
    members = [KnownMember.from_json(member) for member in typed(facts["members"], list)]
    group = Group(
        name=typed(facts["group"], str),
        state=typed(facts["state"], str),
        generation=number(facts["generation"]),
        strategy=typed(facts["strategy"], str),
        partitions={name: number(count) for name, count in facts["partitions"].items()},
        members={member.id: member for member in members},
        assignment={member: from_names(names) for member, names in facts["assignment"].items()},
        committed={from_name(n): number(offset) for n, offset in facts["committed"].items()},
    )
    for name in group.partitions:
        check_topic(name)
    if len(group.members) < len(members):
        raise ValueError("a member stands in it twice")
    if group.state not in (EMPTY, PREPARING, STABLE):
        raise ValueError(f"{group.state!r} is no state")
    if (group.state == EMPTY) != (not group.members):
        raise ValueError(f"{group.state} with {len(group.members)} members")
    if group.state == STABLE and group.assignment.keys() != group.members.keys():
        raise ValueError("the assignment is not that of the members")
    return group
