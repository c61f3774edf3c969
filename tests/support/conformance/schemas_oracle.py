"""The messages of Kafka's protocol as another library has them.

`python schemas_oracle.py LIBRARY` reads [[message, version], ...] and writes those that the library
has, [[message, version, shape], ...]: a shape is the list of the types of its fields, an array is a
list of one type or of a shape.
"""

import dataclasses
import importlib
import json
import re
import sys
import typing
from typing import Any

KIO_TYPES = {
    "error_code": "int16",
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
    "records": "bytes",
}
KAFKA_PYTHON_NAMES = {
    "ListOffsets": "Offset",
    "FindCoordinator": "GroupCoordinator",
    "ApiVersions": "ApiVersion",
}


def main(library: str) -> None:
    """Read what is asked for, and write what the library has of it."""
    get = {"kio": of_kio, "kafka-python": of_kafka_python}[library]
    answers = []
    for name, version in json.load(sys.stdin):
        found = get(name, version)
        if found is not None:
            answers.append([name, version, found])
    json.dump(answers, sys.stdout)


def of_kio(name: str, version: int) -> Any:
    """Return the shape that kio's class of a message has; None if there is none."""
    api, kind = re.fullmatch(r"(\w+?)(Request|Response)", name).groups()
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", api).lower()
    try:
        module = importlib.import_module(f"kio.schema.{snake}.v{version}.{kind.lower()}")
    except ModuleNotFoundError:
        return None
    return kio_shape(getattr(module, name))


def kio_shape(cls: Any) -> list[Any]:
    hints = typing.get_type_hints(cls)
    shape: list[Any] = []
    for field in dataclasses.fields(cls):
        kind = field.metadata.get("kafka_type")
        if kind is None:
            shape.append([kio_shape(inner_class(hints[field.name]))])
            continue
        kind = KIO_TYPES.get(kind, kind)
        shape.append([kind] if "tuple[" in str(hints[field.name]) else kind)
    return shape


def inner_class(hint: Any) -> Any:
    """Return the dataclass in a type such as tuple[Inner, ...] | None."""
    if dataclasses.is_dataclass(hint):
        return hint
    return next(filter(None, map(inner_class, typing.get_args(hint))), None)


def of_kafka_python(name: str, version: int) -> Any:
    """Return the shape of kafka-python's class of a message; None if there is none."""
    api, kind = re.fullmatch(r"(\w+?)(Request|Response)", name).groups()
    wanted = f"{KAFKA_PYTHON_NAMES.get(api, api)}{kind}_v{version}"
    for each in ("produce", "fetch", "offset", "metadata", "commit", "group", "admin"):
        found = getattr(importlib.import_module(f"kafka.protocol.{each}"), wanted, None)
        if found is not None:
            return kafka_python_shape(found.SCHEMA.fields)
    return None


def kafka_python_shape(fields: Any) -> list[Any]:
    """Return the types of fields; a schema in place of a field stands for its own fields."""
    from kafka.protocol.types import Array, Schema

    shape: list[Any] = []
    for field in fields:
        if isinstance(field, Schema):
            shape += kafka_python_shape(field.fields)
        elif isinstance(field, Array):
            inner = kafka_python_shape([field.array_of])
            shape.append(inner if len(inner) == 1 else [inner])
        else:
            name = field.__name__ if isinstance(field, type) else type(field).__name__
            shape.append(name.lower().replace("boolean", "bool"))
    return shape


if __name__ == "__main__":
    main(*sys.argv[1:])
