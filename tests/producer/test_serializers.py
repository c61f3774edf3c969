from typing import ClassVar

import pytest

from kminilog.config import complete_config
from kminilog.errors import PluginError, SerializationError
from kminilog.producer.manual_producer import serializer, serializers
from kminilog.producer_settings import PRODUCER_SETTINGS
from tests.support.errors import error_text


class Reversed:
    """A serialiser of the user's: topic and text, backwards; null is written as "none"."""

    made: ClassVar[list["Reversed"]] = []

    def __init__(self) -> None:
        self.made.append(self)
        self.is_closed = False

    def configure(self, config):
        self.config = config

    def serialize(self, topic, data):
        return bytearray(f"{topic}:{data or 'none'}".encode()[::-1])

    def close(self):
        self.is_closed = True


class Plain:
    def serialize(self, topic, data):
        return data


class Broken:
    def serialize(self, topic, data):
        raise RuntimeError("out of order")


class CannotBeMade:
    def __init__(self) -> None:
        raise RuntimeError("not today")


class Nothing:
    """Has no serialize."""


def path_of(serializer_class: type) -> str:
    return f"{__name__}:{serializer_class.__name__}"


@pytest.mark.parametrize(
    ("name", "data", "encoded"),
    [
        ("bytes", b"\x00\xff", b"\x00\xff"),
        ("bytes", bytearray(b"ab"), b"ab"),
        ("bytes", b"", b""),
        ("bytes", None, None),
        ("string", "naïve 日本 😀", b"na\xc3\xafve \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80"),
        ("string", "", b""),
        ("string", None, None),
        ("integer", 0, b"\x00\x00\x00\x00"),
        ("integer", 258, b"\x00\x00\x01\x02"),
        ("integer", -1, b"\xff\xff\xff\xff"),
        ("integer", 2**31 - 1, b"\x7f\xff\xff\xff"),
        ("integer", -(2**31), b"\x80\x00\x00\x00"),
        ("integer", None, None),
    ],
)
def test_serializer_makes_bytes_and_leaves_null_alone(name, data, encoded):
    found = serializer(name, "key.serializer")("orders", data)
    assert (type(found), found) == (type(encoded), encoded)


NOT_TAKEN = [
    ("bytes", "text", "str is not bytes"),
    ("bytes", 5, "int is not bytes"),
    ("bytes", [1], "list is not bytes"),
    ("string", b"bytes", "bytes is no text"),
    ("string", "\ud800", "surrogates not allowed"),
    ("integer", "5", "str is no whole number"),
    ("integer", 5.0, "float is no whole number"),
    ("integer", True, "bool is no whole number"),
    ("integer", 2**31, "2147483648 does not fit into 4 bytes"),
    ("integer", -(2**31) - 1, "-2147483649 does not fit into 4 bytes"),
    (path_of(Broken), "text", "RuntimeError: out of order"),
    (path_of(Plain), "text", "it returned str, not bytes"),
]


@pytest.mark.parametrize("what", ["key", "value"])
def test_serializer_says_what_it_does_not_take(what):
    offenders = []
    for name, data, reason in NOT_TAKEN:
        serialize = serializer(name, f"{what}.serializer")
        said = error_text(SerializationError, serialize, "orders", data)
        if not said.startswith(f"{what}: {name} serialiser: ") or reason not in said:
            offenders.append((name, data, said))
    assert offenders == []
    with pytest.raises(SerializationError) as caught:
        serializer("bytes", f"{what}.serializer")("orders", 5)
    assert (caught.value.what, caught.value.reason) == (what, "int is not bytes")


def test_serializer_of_the_user_gets_topic_settings_null_and_close():
    Reversed.made.clear()
    to_bytes = serializer(path_of(Reversed), "value.serializer", {"acks": 1})
    assert to_bytes("orders", "tea") == b"aet:sredro"
    assert to_bytes("orders", None) == b"enon:sredro"
    (made,) = Reversed.made
    assert made.config == {"acks": 1}
    to_bytes.close()
    assert made.is_closed


def test_serializer_that_needs_no_closing_can_be_closed():
    serializer("string", "value.serializer").close()
    serializer(path_of(Plain), "value.serializer").close()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (path_of(CannotBeMade), "RuntimeError: not today"),
        (path_of(Nothing), "it has no method serialize"),
        ("strings", "write package.module.Class"),
    ],
)
def test_serializer_that_cannot_be_had_says_why(path, reason):
    with pytest.raises(PluginError, match=r"value\.serializer") as caught:
        serializer(path, "value.serializer")
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("java_name", "name"),
    [
        ("kafka.serializer.StringEncoder", "string"),
        ("kafka.serializer.DefaultEncoder", "bytes"),
        ("org.apache.kafka.common.serialization.StringSerializer", "string"),
        ("org.apache.kafka.common.serialization.ByteArraySerializer", "bytes"),
        ("org.apache.kafka.common.serialization.IntegerSerializer", "integer"),
    ],
)
def test_serializer_by_the_java_name_that_the_documents_set(java_name, name):
    assert serializer(java_name, "value.serializer").name == name


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, ["bytes", "bytes"]),
        ({"serializer.class": "string"}, ["string", "string"]),
        ({"serializer.class": "kafka.serializer.StringEncoder"}, ["string", "string"]),
        ({"serializer.class": "string", "key.serializer": "bytes"}, ["bytes", "string"]),
        ({"serializer.class": "string", "key.serializer.class": "integer"}, ["integer", "string"]),
        ({"serializer.class": "string", "value.serializer": "integer"}, ["string", "integer"]),
        ({"key.serializer": "integer"}, ["integer", "bytes"]),
    ],
)
def test_serializers_are_those_given_or_else_serializer_class_for_both(given, names):
    chosen = serializers(complete_config(given, PRODUCER_SETTINGS))
    assert [each.name for each in chosen] == names


def test_serializers_name_the_setting_that_asked_for_them():
    with pytest.raises(SerializationError, match=r"^key: "):
        serializers(complete_config({}, PRODUCER_SETTINGS))[0]("orders", 5)
    with pytest.raises(PluginError, match=r"^value\.serializer "):
        serializers(complete_config({"value.serializer": "no"}, PRODUCER_SETTINGS))
