"""The batches that others wrote: `golden/README.md` says who."""

from pathlib import Path

DIRECTORY = Path(__file__).parent / "golden"
JAVA = "kafka-clients-4.3.0"


def cases(writer: str) -> dict[str, bytes]:
    """Return the bytes of each case that this client wrote, by name."""
    lines = (DIRECTORY / f"{writer}.txt").read_text().splitlines()
    return {name: bytes.fromhex(data) for name, data in (line.split() for line in lines)}


def java(name: str) -> bytes:
    """Return the bytes of one case that Kafka's own client wrote."""
    return cases(JAVA)[name]


ALL = {
    f"{path.stem} {name}": data
    for path in DIRECTORY.glob("*.txt")
    for name, data in cases(path.stem).items()
}
