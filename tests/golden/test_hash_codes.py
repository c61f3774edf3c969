"""Hash codes that a Java machine computed; PROVENANCE.md says which."""

from collections.abc import Callable
from pathlib import Path

from kminilog.format.java_hashing import java_hash

FILE = Path(__file__).with_name("java_hash_codes.tsv")
READ: dict[str, Callable[[str], object]] = {
    "string": lambda text: bytes.fromhex(text).decode(),
    "bytes": bytes.fromhex,
    "int": int,
    "long": int,
    "double": float,
    "boolean": lambda text: text == "true",
}
ROWS = [line.split("\t") for line in FILE.read_text().splitlines() if not line.startswith("#")]


def test_java_hash_equals_what_java_computed():
    assert [row for row in ROWS if java_hash(READ[row[0]](row[1])) != int(row[2])] == []


def test_java_hash_codes_are_of_every_kind():
    assert {kind for kind, _, _ in ROWS} == set(READ)
    assert ["string", b"polygenelubricants".hex(), str(-(2**31))] in ROWS
    assert ["string", b"hello".hex(), "99162322"] in ROWS
    assert ["bytes", b"abc".hex(), "126145"] in ROWS
