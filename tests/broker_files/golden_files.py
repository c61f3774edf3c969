"""The batches that others wrote: `golden/README.md` says who."""

import struct
from pathlib import Path
from zlib import crc32

from tests.support.damage import crc32c

DIRECTORY = Path(__file__).parent / "golden"
JAVA = "kafka-clients-4.3.0"


def cases(writer: str) -> dict[str, bytes]:
    """Return the bytes of each case that this client wrote, by name."""
    lines = (DIRECTORY / f"{writer}.txt").read_text().splitlines()
    return {name: bytes.fromhex(data) for name, data in (line.split() for line in lines)}


def java(name: str) -> bytes:
    """Return the bytes of one case that Kafka's own client wrote."""
    return cases(JAVA)[name]


def with_right_crc(data: bytes) -> bytes:
    """Return a message or batch with the crc that its bytes give."""
    if data[16] == 2:
        return data[:17] + struct.pack(">I", crc32c(data[21:])) + data[21:]
    return data[:12] + struct.pack(">I", crc32(data[16:])) + data[16:]


ALL = {
    f"{path.stem} {name}": data
    for path in DIRECTORY.glob("*.txt")
    for name, data in cases(path.stem).items()
}
