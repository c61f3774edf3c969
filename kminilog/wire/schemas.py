"""The messages of Kafka's network protocol, as one table; it drives encoder and decoder.

A line is a message: its name, for a request the key of its API and the versions that are spoken
here, and its fields in their order.

    name:type           a field of all versions
    name:type@3         from version 3 on;  @0-0: only in version 0
    name:[type]         an array of a type; name:[a:type b:type]  of what has these fields
    name:?type          it may be null

    int8 int16 int32 int64    big-endian, with a sign
    bool                      a byte, 0 or 1
    string                    int16 length, then UTF-8
    bytes                     int32 length, then the bytes; -1 for null

None of these versions is a flexible one: no client needs them (KIP-482). A decoded message is a
dict; fields that a version lacks are left out. To encode, a field that a version has and that is
not given has the value 0, "", false or no elements.
Source: Kafka: clients/src/main/resources/common/message/*.json.
"""

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

TABLE = """
ApiVersionsRequest 18 0-2:
ApiVersionsResponse: error_code:int16 api_keys:[api_key:int16 min_version:int16 max_version:int16] \
throttle_time_ms:int32@1
MetadataRequest 3 0-7: topics:?[string] allow_auto_topic_creation:bool@4
MetadataResponse: throttle_time_ms:int32@3 brokers:[node_id:int32 host:string port:int32 \
rack:?string@1] cluster_id:?string@2 controller_id:int32@1 topics:[error_code:int16 name:string \
is_internal:bool@1 partitions:[error_code:int16 partition_index:int32 leader_id:int32 \
leader_epoch:int32@7 replica_nodes:[int32] isr_nodes:[int32] offline_replicas:[int32]@5]]
ProduceRequest 0 0-8: transactional_id:?string@3 acks:int16 timeout_ms:int32 \
topic_data:[name:string partition_data:[index:int32 records:bytes]]
ProduceResponse: responses:[name:string partition_responses:[index:int32 error_code:int16 \
base_offset:int64 log_append_time_ms:int64@2 log_start_offset:int64@5 \
record_errors:[batch_index:int32 batch_index_error_message:?string]@8 error_message:?string@8]] \
throttle_time_ms:int32@1
FetchRequest 1 0-6: replica_id:int32 max_wait_ms:int32 min_bytes:int32 max_bytes:int32@3 \
isolation_level:int8@4 topics:[topic:string partitions:[partition:int32 fetch_offset:int64 \
log_start_offset:int64@5 partition_max_bytes:int32]]
FetchResponse: throttle_time_ms:int32@1 responses:[topic:string partitions:[partition_index:int32 \
error_code:int16 high_watermark:int64 last_stable_offset:int64@4 log_start_offset:int64@5 \
aborted_transactions:?[producer_id:int64 first_offset:int64]@4 records:bytes]]
ListOffsetsRequest 2 0-2: replica_id:int32 isolation_level:int8@2 topics:[name:string \
partitions:[partition_index:int32 timestamp:int64 max_num_offsets:int32@0-0]]
ListOffsetsResponse: throttle_time_ms:int32@2 topics:[name:string \
partitions:[partition_index:int32 error_code:int16 old_style_offsets:[int64]@0-0 \
timestamp:int64@1 offset:int64@1]]
OffsetCommitRequest 8 0-4: group_id:string generation_id_or_member_epoch:int32@1 \
member_id:string@1 retention_time_ms:int64@2-4 topics:[name:string \
partitions:[partition_index:int32 committed_offset:int64 commit_timestamp:int64@1-1 \
committed_metadata:?string]]
OffsetCommitResponse: throttle_time_ms:int32@3 topics:[name:string \
partitions:[partition_index:int32 error_code:int16]]
OffsetFetchRequest 9 0-4: group_id:string topics:?[name:string partition_indexes:[int32]]
OffsetFetchResponse: throttle_time_ms:int32@3 topics:[name:string \
partitions:[partition_index:int32 committed_offset:int64 metadata:?string error_code:int16]] \
error_code:int16@2
FindCoordinatorRequest 10 0-2: key:string key_type:int8@1
FindCoordinatorResponse: throttle_time_ms:int32@1 error_code:int16 error_message:?string@1 \
node_id:int32 host:string port:int32
JoinGroupRequest 11 0-3: group_id:string session_timeout_ms:int32 rebalance_timeout_ms:int32@1 \
member_id:string protocol_type:string protocols:[name:string metadata:bytes]
JoinGroupResponse: throttle_time_ms:int32@2 error_code:int16 generation_id:int32 \
protocol_name:string leader:string member_id:string members:[member_id:string metadata:bytes]
HeartbeatRequest 12 0-2: group_id:string generation_id:int32 member_id:string
HeartbeatResponse: throttle_time_ms:int32@1 error_code:int16
LeaveGroupRequest 13 0-2: group_id:string member_id:string
LeaveGroupResponse: throttle_time_ms:int32@1 error_code:int16
SyncGroupRequest 14 0-2: group_id:string generation_id:int32 member_id:string \
assignments:[member_id:string assignment:bytes]
SyncGroupResponse: throttle_time_ms:int32@1 error_code:int16 assignment:bytes
DescribeGroupsRequest 15 0-2: groups:[string]
DescribeGroupsResponse: throttle_time_ms:int32@1 groups:[error_code:int16 group_id:string \
group_state:string protocol_type:string protocol_data:string members:[member_id:string \
client_id:string client_host:string member_metadata:bytes member_assignment:bytes]]
ListGroupsRequest 16 0-2:
ListGroupsResponse: throttle_time_ms:int32@1 error_code:int16 groups:[group_id:string \
protocol_type:string]
CreateTopicsRequest 19 0-4: topics:[name:string num_partitions:int32 replication_factor:int16 \
assignments:[partition_index:int32 broker_ids:[int32]] configs:[name:string value:?string]] \
timeout_ms:int32 validate_only:bool@1
CreateTopicsResponse: throttle_time_ms:int32@2 topics:[name:string error_code:int16 \
error_message:?string@1]
DeleteTopicsRequest 20 0-3: topic_names:[string] timeout_ms:int32
DeleteTopicsResponse: throttle_time_ms:int32@1 responses:[name:string error_code:int16]
InitProducerIdRequest 22 0-1: transactional_id:?string transaction_timeout_ms:int32
InitProducerIdResponse: throttle_time_ms:int32 error_code:int16 producer_id:int64 \
producer_epoch:int16
DescribeConfigsRequest 32 0-2: resources:[resource_type:int8 resource_name:string \
configuration_keys:?[string]] include_synonyms:bool@1
DescribeConfigsResponse: throttle_time_ms:int32 results:[error_code:int16 error_message:?string \
resource_type:int8 resource_name:string configs:[name:string value:?string read_only:bool \
is_default:bool@0-0 config_source:int8@1 is_sensitive:bool synonyms:[name:string value:?string \
source:int8]@1]]
CreatePartitionsRequest 37 0-1: topics:[name:string count:int32 \
assignments:?[broker_ids:[int32]]] timeout_ms:int32 validate_only:bool
CreatePartitionsResponse: throttle_time_ms:int32 results:[name:string error_code:int16 \
error_message:?string]
DeleteGroupsRequest 42 0-1: groups_names:[string]
DeleteGroupsResponse: throttle_time_ms:int32 results:[group_id:string error_code:int16]
RequestHeader: api_key:int16 api_version:int16 correlation_id:int32 client_id:?string
ConsumerProtocolSubscription: topics:[string] user_data:bytes owned_partitions:[topic:string \
partitions:[int32]]@1
ConsumerProtocolAssignment: assigned_partitions:[topic:string partitions:[int32]] user_data:bytes
"""

Value = dict[str, Any]
_NUMBERS = {
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
    "bool": struct.Struct(">?"),
}
_LENGTH = {"string": _NUMBERS["int16"], "bytes": _NUMBERS["int32"]}
_LINE = re.compile(r"(\w+)(?: (\d+) (\d+)-(\d+))?: ?(.*)")
_TOKEN = re.compile(r"\w+:\??\[?|\]|@\d+(?:-\d+)?|\w+")
_NEWEST = 1 << 15
MOST_ELEMENTS = 10_000
"""Of all arrays of a request together: an element takes a hundred times as much memory here."""


class WireField(NamedTuple):
    """A field of a message. `fields` has those of each element, if it is an array of such."""

    name: str
    type: str
    is_array: bool
    is_nullable: bool
    since: int
    until: int
    fields: tuple["WireField", ...]


class Api(NamedTuple):
    """What one can ask for: its name, its key, and the versions that are spoken here."""

    name: str
    key: int
    oldest: int
    newest: int


class MalformedError(ValueError):
    """Bytes that are no such message; the text says which field."""


def _parse(text: str) -> tuple[WireField, ...]:
    """Return the fields that a line of the table names."""
    tokens = _TOKEN.findall(text)
    at = 0

    def fields() -> tuple[WireField, ...]:
        nonlocal at
        found = []
        while at < len(tokens) and tokens[at] != "]":
            name, _, shape = tokens[at].partition(":")
            at += 1
            is_array, kind, inner = "[" in shape, "", tuple[WireField, ...]()
            if is_array and ":" in tokens[at]:
                inner = fields()
            else:
                kind = tokens[at]
                at += 1
            at += is_array  # its closing bracket
            since, until = 0, _NEWEST
            if at < len(tokens) and tokens[at].startswith("@"):
                first, _, last = tokens[at][1:].partition("-")
                since, until = int(first), int(last or _NEWEST)
                at += 1
            found.append(WireField(name, kind, is_array, "?" in shape, since, until, inner))
        return tuple(found)

    return fields()


def _messages() -> Iterator[tuple[str, Api | None, tuple[WireField, ...]]]:
    for line in TABLE.strip().splitlines():
        found = _LINE.fullmatch(line)
        assert found, line
        name, key, oldest, newest, text = found.groups()
        api = Api(name.removesuffix("Request"), int(key), int(oldest), int(newest)) if key else None
        yield name, api, _parse(text)


MESSAGES = {name: fields for name, _, fields in _messages()}
"""The fields of each message, by its name."""
APIS = {api.key: api for _, api, _ in _messages() if api}
"""What can be asked for, by the key of its API."""


@cache
def fields_of(name: str, version: int) -> tuple[WireField, ...]:
    """Return the fields that a message has in a version. O(1) after the first call."""
    return _of_version(MESSAGES[name], version)


def _of_version(fields: tuple[WireField, ...], version: int) -> tuple[WireField, ...]:
    return tuple(
        field._replace(fields=_of_version(field.fields, version))
        for field in fields
        if field.since <= version <= field.until
    )


def by_topic(
    asked: Iterable[Value],
    answer: Callable[[str, Any], Value],
    *,
    partitions: str = "partitions",
    answers: str = "partitions",
) -> list[Value]:
    """Return the answer for each partition of each topic, in the shape that most answers have.

    `answer` takes the name of the topic, and what is asked of a partition. `partitions` is the
    field of these in the request, `answers` that in the answer.

    >>> by_topic([{"name": "t", "partitions": [7]}], lambda name, each: {"is": f"{name}-{each}"})
    [{'name': 't', 'partitions': [{'is': 't-7'}]}]
    """
    return [
        {"name": topic["name"], answers: [answer(topic["name"], one) for one in topic[partitions]]}
        for topic in asked
    ]


def encode(name: str, version: int, value: Mapping[str, Any]) -> bytes:
    """Return a message in a version. O(bytes). Raises struct.error for a number out of range.

    >>> encode("HeartbeatResponse", 1, {"error_code": 27}).hex()
    '00000000001b'
    """
    parts: list[bytes] = []
    _encode_fields(fields_of(name, version), value, parts.append)
    return b"".join(parts)


def _encode_fields(
    fields: tuple[WireField, ...], value: Mapping[str, Any], write: Callable[[bytes], None]
) -> None:
    for field in fields:
        given = value.get(field.name, _DEFAULTS.get(field.type) if not field.is_array else ())
        if not field.is_array:
            _encode_one(field.type, given, write)
            continue
        write(_NUMBERS["int32"].pack(-1 if given is None else len(given)))
        for one in given or ():
            if field.fields:
                _encode_fields(field.fields, one, write)
            else:
                _encode_one(field.type, one, write)


_DEFAULTS: dict[str, Any] = {**dict.fromkeys(_NUMBERS, 0), "string": "", "bytes": b""}


def _encode_one(kind: str, value: Any, write: Callable[[bytes], None]) -> None:
    if kind in _NUMBERS:
        write(_NUMBERS[kind].pack(value))
        return
    data = value.encode() if isinstance(value, str) else value
    write(_LENGTH[kind].pack(-1 if data is None else len(data)))
    if data:
        write(data)


def decode(name: str, version: int, data: bytes, position: int = 0) -> tuple[Value, int]:
    """Return the message that begins at a position, and where it ends. O(bytes).

    Raises MalformedError for bytes that end too early, a length below -1, null where none may be,
    text that is not UTF-8, and too many elements. No length is believed beyond the bytes that are
    there.

    >>> decode("HeartbeatRequest", 0, bytes.fromhex("0001 67 00000003 0001 6d"))
    ({'group_id': 'g', 'generation_id': 3, 'member_id': 'm'}, 10)
    """
    cursor = _Cursor(data, position, None if name.endswith("Response") else MOST_ELEMENTS)
    return cursor.fields(fields_of(name, version)), cursor.position


class _Cursor:
    def __init__(self, data: bytes, position: int, most_elements: int | None) -> None:
        self.data = data
        self.position = position
        self.left_elements = most_elements

    def fields(self, fields: tuple[WireField, ...]) -> Value:
        return {field.name: self.field(field) for field in fields}

    def field(self, field: WireField) -> Any:
        try:
            if not field.is_array:
                return self.one(field.type, is_nullable=field.is_nullable or field.type == "bytes")
            length = self.number("int32")
            if length < 0 and not (length == -1 and field.is_nullable):
                raise MalformedError(f"an array of {length} elements")
            if length < 0:
                return None
            if self.left_elements is not None:
                self.left_elements -= length
                if self.left_elements < 0:
                    raise MalformedError(f"more than {MOST_ELEMENTS} elements in all")
            if field.fields:
                return [self.fields(field.fields) for _ in range(length)]
            return [self.one(field.type) for _ in range(length)]
        except MalformedError as error:
            raise MalformedError(f"{field.name}: {error}") from None

    def number(self, kind: str) -> Any:
        shape = _NUMBERS[kind]
        if self.position + shape.size > len(self.data):
            raise MalformedError("the bytes end before it does")
        (value,) = shape.unpack_from(self.data, self.position)
        self.position += shape.size
        return value

    def one(self, kind: str, *, is_nullable: bool = False) -> Any:
        if kind in _NUMBERS:
            return self.number(kind)
        length = self.number("int16" if kind == "string" else "int32")
        if length == -1 and is_nullable:
            return None
        if length < 0:
            raise MalformedError(f"a length of {length}")
        start, self.position = self.position, self.position + length
        if self.position > len(self.data):
            raise MalformedError("the bytes end before it does")
        found = self.data[start : self.position]
        if kind == "bytes":
            return found
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise MalformedError("no UTF-8") from None
