"""docs/broker-files.md shows a batch byte by byte: as the code sees what Kafka wrote.

`python -m tests.docs.test_broker_files_page` prints these lines.
"""

from pathlib import Path

from kminilog.broker_files.byte_picture import StoredField, fields_of_batch
from kminilog.broker_files.codecs import CODECS
from kminilog.broker_files.record_batch import CONTROL_TYPES
from tests.broker_files.golden_files import java

PAGE = (Path(__file__).parents[2] / "docs" / "broker-files.md").read_text()


def line(data: bytes, field: StoredField) -> str:
    shown = data[field.position : field.position + field.length].hex(" ")
    value = field.value.decode() if isinstance(field.value, bytes) else f"{field.value}"
    said = f"{value}: {field.meaning}" if field.meaning else value
    return f"{field.position:02x}  {shown:23}  {field.name:22}  {said}"


def picture() -> str:
    data = java("v2-transactional")
    return "\n".join(line(data, field) for field in fields_of_batch(data))


def test_page_shows_the_batch_that_kafka_wrote():
    assert f"```text\n{picture()}\n```" in PAGE


def test_page_names_each_codec_and_each_control_type():
    assert [name for name in CODECS if name not in PAGE] == []
    types = [f"{number} {name}" for number, name in CONTROL_TYPES.items()]
    assert [name for name in types if name not in PAGE] == []


if __name__ == "__main__":
    print(picture())
