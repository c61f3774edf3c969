"""What can become of a small file: other JSON, other text, other bytes, or no file at all.

A mutant is made by a `Random`, so a seed makes it again. Imports nothing of kminilog.
"""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    -1,
    0,
    7,
    2**31,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    10**30,
    1.5,
    1e308,
    "",
    ".",
    "..",
    "../outside",
    "../../outside/precious",
    "/etc/passwd",
    "orders",
    "orders-1",
    "orders-99",
    "a/b",
    "a\nb",
    "a\0b",
    "\x1b[31mred",
    "\u202eright",
    "\ud800",
    "x" * 300,
    [],
    {},
    [[]],
    [1, "a", None],
    {"a": 1},
)
ODD_TEXTS = (
    b"",
    b"null",
    b"{",
    b"[]",
    b"{}",
    b"NaN",
    b'"orders"',
    b"[" * 50_000,
    b'{"a":' * 50_000,
    b"9" * 5_000,
    b"\xff\xfe{\x00}\x00",
    b"\0" * 4096,
    b"0\n1\norders 0 -5\n",
    b"0\n1\norders 0 99999999999999999999\n",
    b"0\n1\n../outside 0 5\n",
    b"0\n-1\n",
    b"1\n0\n",
)

GONE = "gone"
KINDS = (
    "directory",
    "full directory",
    "fifo",
    "socket",
    "link",
    "link to the same",
    "dangling link",
    "loop",
    "unreadable",  # but for root
    GONE,
)


def mutate(path: Path, random: Random, outside: Path) -> str:
    """Put a mutant in the place of a file, and say what it is; links lead to `outside`."""
    ways: list[tuple[int, Callable[[Path, Random, Path], str]]] = [
        (60, _other_json),
        (15, _other_text),
        (10, _other_bytes),
        (15, _no_file),
    ]
    way = random.choices([way for _, way in ways], [weight for weight, _ in ways])[0]
    return way(path, random, outside)


def _other_json(path: Path, random: Random, outside: Path) -> str:
    """Change values and names of a JSON document, or the lines of another text."""
    data = path.read_bytes()
    try:
        document = json.loads(data)
    except ValueError:
        return _other_lines(path, random)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        holder, key = random.choice(list(_places(document)) or [(None, None)])
        change = random.choice(("replace", "replace", "delete", "add", "nest"))
        if holder is None or random.random() < 0.03:
            document = random.choice(ODD_VALUES)
            break
        if change == "replace":
            holder[key] = random.choice(ODD_VALUES)
        elif change == "delete":
            del holder[key]
        elif change == "add" and isinstance(holder, dict):
            holder[str(random.choice(ODD_VALUES))] = random.choice(ODD_VALUES)
        else:
            holder[key] = [holder[key]]
    text = json.dumps(document, ensure_ascii=random.random() < 0.5)
    if random.random() < 0.1 and text.startswith("{") and len(text) > 2:
        text = "{" + text[1:-1] + "," + text[1:-1] + "}"  # every name twice
    if random.random() < 0.1:
        text = text.replace("1", random.choice(("NaN", "-Infinity", "1e999", "01")))
    encoding = random.choice(("utf-8",) * 6 + ("utf-16", "utf-8-sig", "latin-1", "utf-32"))
    path.write_bytes(text.encode(encoding, "replace" if encoding == "latin-1" else "surrogatepass"))
    return f"{encoding}: {path.read_bytes()[:2000]!r}"


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return all members of objects and lists in a document: what holds it, and its key."""
    if not isinstance(value, (dict, list)):
        return []
    found: list[tuple[Any, Any]] = []
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        found += [(value, key), *_places(child)]
    return found


def _other_lines(path: Path, random: Random) -> str:
    words = path.read_text("utf-8", "replace").split(" ")
    for _ in range(random.randint(1, 3)):
        slot = random.randrange(len(words))
        words[slot] = str(random.choice(ODD_VALUES))
    path.write_bytes(" ".join(words).encode("utf-8", "surrogatepass"))
    return f"lines: {path.read_bytes()[:2000]!r}"


def _other_text(path: Path, random: Random, outside: Path) -> str:
    data = random.choice(ODD_TEXTS)
    path.write_bytes(data)
    return f"text: {data[:200]!r}"


def _other_bytes(path: Path, random: Random, outside: Path) -> str:
    data = bytearray(path.read_bytes())
    if random.random() < 0.3 or not data:
        data = bytearray(random.randbytes(random.choice((1, 10, 1000))))
    elif random.random() < 0.5:
        del data[random.randrange(len(data)) :]
    else:
        for _ in range(random.randint(1, 4)):
            data[random.randrange(len(data))] = random.randrange(256)
    path.write_bytes(data)
    return f"bytes: {bytes(data)[:2000]!r}"


def _no_file(path: Path, random: Random, outside: Path) -> str:
    data = path.read_bytes()
    path.unlink()
    kind = random.choice(KINDS)
    if kind.endswith("directory"):
        path.mkdir()
        if kind.startswith("full"):
            (path / "mine").write_text("mine")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket must be short
        try:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(path.name)
        finally:
            os.chdir(here)
    elif kind == "link":
        path.symlink_to(outside / "precious")
    elif kind == "link to the same":
        (outside / "same").write_bytes(data)
        path.symlink_to(outside / "same")
    elif kind == "dangling link":
        path.symlink_to(outside / "nothing")
    elif kind == "unreadable":
        path.write_bytes(data)
        path.chmod(0)
    elif kind == "loop":
        path.symlink_to(path.name)
    return kind
