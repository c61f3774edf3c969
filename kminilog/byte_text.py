"""The bytes of a text beside their hex: every character stands at its bytes.

    e4 b8 ad 65 e5 9b bd    │中 e国 │      as many columns as bytes, so rows stay aligned

Chinese takes three bytes and two columns, é two bytes and one: blanks fill the rest. A character
that a row would cut stands in the row that has room for it. What is no text, or must not reach a
terminal, is a dot. Source: ours; hexdump -C.
"""

DOT = "."


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> columns("key"), columns("中国"), columns("é"), columns("e\u0301")
    (3, 4, 1, 1)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def ascii_cells(data: bytes) -> list[str]:
    """Return one character for each byte: itself if it is printable ASCII, else a dot."""
    return [chr(byte) if 0x20 <= byte < 0x7F else DOT for byte in data]


def text_cells(data: bytes, row_bytes: int, shift: int = 0) -> list[str]:
    """Return for each byte of a text what stands in its column; ASCII only if it is no UTF-8.

    A row has `row_bytes` bytes; the first one has `shift` bytes of something else in front. The
    text may end inside a character: then its first bytes are dots.

    >>> "".join(text_cells("中e国".encode(), 8))
    '中 e国 '
    >>> text_cells("e中".encode(), 2), text_cells(bytes([0xe4, 65]), 8)
    (['e', ' ', '中', ''], ['.', 'A'])
    """
    try:
        text, cut = data.decode(), b""
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return ascii_cells(data)
        text, cut = data[: error.start].decode(), data[error.start :]
    cells: list[str] = []
    for character in text:
        size, width = len(character.encode()), columns(character)
        if not character.isprintable() or not width:
            cells += [DOT] * size
            continue
        room = row_bytes - (shift + len(cells)) % row_bytes
        blanks = room if room < min(width, size) else 0
        tail = size - blanks - width
        cells += [*" " * blanks, character, *[""] * (width - 1), *" " * tail]
    return [*cells, *[DOT] * len(cut)]
