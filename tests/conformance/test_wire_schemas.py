"""The table of messages beside two independent ones, field by field, in each version they have.

PyPI's `kio` is generated from Kafka's own schemas, those of 4.x. kafka-python 2.0.2 has the old
versions, and three mistakes, in which kio agrees with us.
"""

import json
from pathlib import Path

import pytest

from kminilog.wire.schemas import APIS, WireField, fields_of
from tests.support.conformance.wheel_oracles import KAFKA_PYTHON, installed, require, run_python

pytestmark = pytest.mark.conformance

KIO = "kio==0.6.5"
PROGRAM = Path(__file__).parents[1] / "support" / "conformance" / "schemas_oracle.py"
WRONG_IN_KAFKA_PYTHON = {
    ("ProduceResponse", 8),  # lacks record_errors and error_message
    ("FindCoordinatorResponse", 1),  # lacks throttle_time_ms
    ("FindCoordinatorResponse", 2),
}


def shape(fields: tuple[WireField, ...]) -> list[object]:
    """Return the types of fields; an array is a list."""
    found: list[object] = []
    for field in fields:
        one: object = shape(field.fields) if field.fields else field.type
        found.append([one] if field.is_array else one)
    return found


def ours() -> dict[tuple[str, int], list[object]]:
    return {
        (api.name + kind, version): shape(fields_of(api.name + kind, version))
        for api in APIS.values()
        for version in range(api.oldest, api.newest + 1)
        for kind in ("Request", "Response")
    }


def theirs(library: str, *requirements: str) -> dict[tuple[str, int], list[object]]:
    path = require(library, lambda: installed(*requirements, alone=False))
    asked = json.dumps([[name, version] for name, version in ours()])
    told = json.loads(run_python(PROGRAM, library, path=path, stdin=asked))
    return {(name, version): found for name, version, found in told}


def same_bytes(shape: object) -> object:
    """Return a shape in which what looks the same on the network is the same."""
    if isinstance(shape, list):
        inner = [same_bytes(one) for one in shape]
        return inner[0] if len(inner) == 1 and isinstance(inner[0], list) else inner
    return {"bool": "int8"}.get(str(shape), shape)


def test_messages_are_those_of_kafkas_own_schemas():
    found, known = theirs("kio", KIO), ours()
    different = {each for each in found if same_bytes(found[each]) != same_bytes(known[each])}
    print(f"kio: {len(found)} messages, {len(different)} differ")
    assert different == set()
    assert len(found) > 100


def test_messages_are_those_of_kafka_python_but_for_its_mistakes():
    found, known = theirs("kafka-python", KAFKA_PYTHON), ours()
    different = {each for each in found if same_bytes(found[each]) != same_bytes(known[each])}
    print(f"kafka-python: {len(found)} messages, {len(different)} differ")
    assert different == WRONG_IN_KAFKA_PYTHON & found.keys()
    assert len(found) > 80


def test_each_message_is_in_one_of_them_in_some_version():
    both = theirs("kio", KIO).keys() | theirs("kafka-python", KAFKA_PYTHON).keys()
    assert {name for name, _ in ours().keys() - both} <= {name for name, _ in both}
