"""What a request was and what came of it, for people: `serve --watch`.

Source: ours.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kminilog.wire.errors import Code
from kminilog.wire.messages import AppendedSet
from kminilog.wire.schemas import Value
from kminilog.wire.served import NODE_ID


class AnsweredRequest(NamedTuple):
    """A request that broker `node` has answered; `appended` is what it has written."""

    client: str
    client_id: str
    api: str
    version: int
    request: Value
    answer: Value | None
    appended: tuple[AppendedSet, ...] = ()
    node: int = NODE_ID


def described(asked: AnsweredRequest) -> dict[str, Any]:
    """Return a request as a JSON document: who, what, which messages went where, which errors."""
    document = {
        "client": asked.client,
        "client_id": asked.client_id,
        "api": asked.api,
        "version": asked.version,
        "broker": asked.node,
        "appended": [
            {
                **each.partition._asdict(),
                "first_offset": each.offsets.start,
                "next_offset": each.offsets.stop,
                "segment": each.segment,
                "bytes": each.size_bytes,
            }
            for each in asked.appended
        ],
        "fetched": [*_fetched(asked)],
        "group": asked.request.get("group_id"),
        "errors": [Code(code).name for code in dict.fromkeys(_error_codes(asked.answer))],
    }
    return document


def _fetched(asked: AnsweredRequest) -> Iterator[dict[str, Any]]:
    """Yield from where messages were read, and how many bytes; nothing that was empty."""
    if asked.api != "Fetch" or asked.answer is None:
        return
    offsets = {
        (topic["topic"], one["partition"]): one["fetch_offset"]
        for topic in asked.request["topics"]
        for one in topic["partitions"]
    }
    for topic in asked.answer["responses"]:
        for one in topic["partitions"]:
            place = topic["topic"], one["partition_index"]
            if one.get("records"):
                yield {
                    "topic": place[0],
                    "partition": place[1],
                    "offset": offsets[place],
                    "bytes": len(one["records"]),
                }


def _error_codes(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        if value.get("error_code"):
            yield value["error_code"]
        value = value.values()
    elif not isinstance(value, list):
        return
    for one in value:
        if isinstance(one, dict | list):
            yield from _error_codes(one)


def in_words(document: dict[str, Any]) -> str:
    """Return what a described request has done, in a few words.

    >>> in_words({"appended": [], "fetched": [], "group": "g", "errors": []})
    'group g'
    """
    words = [
        f"{one['topic']}-{one['partition']} {one['first_offset']} to {one['next_offset'] - 1} "
        f"in {one['segment']}, {one['bytes']} bytes"
        for one in document["appended"]
    ]
    words += [
        f"{one['topic']}-{one['partition']} from {one['offset']}, {one['bytes']} bytes"
        for one in document["fetched"]
    ]
    if document["group"]:
        words.append(f"group {document['group']}")
    return "; ".join(words + document["errors"])
