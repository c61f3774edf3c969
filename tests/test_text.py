"""Tables fit, and lose no word; text stands beside its bytes, aligned, in any script."""

import colorsys
import re
import unicodedata
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from kminilog.text import (
    FIELD_COLOURS,
    ascii_cells,
    columns,
    shown,
    shown_in,
    table,
    table_rows,
    text_cells,
    wrap,
)

UNCUT = re.compile("[中文]|[^ 中文]+")  # a Chinese text may be broken at each character
WIDTHS = st.sampled_from([60, 80, 120])
WORDS = st.text("abc中文é", min_size=1, max_size=9)
CELLS = st.lists(WORDS, max_size=12).map(" ".join) | st.integers(0, 10**12)
TEXTS = st.text(st.sampled_from("ab 中文字é\u0301\u3000\u202e\n😀") | st.characters(codec="utf-8"))


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1)
    ),
    WIDTHS,
)
def test_table_fits_and_loses_no_word(rows, fit):
    headings = [f"heading {number}" for number in range(len(rows[0]))]
    found = table_rows(headings, rows, fit)
    assert len(found) == len(rows) + 1
    assert table(headings, rows, fit) == [line for row in found for line in row]
    for row, lines in zip((headings, *rows), found, strict=True):
        said = sorted(word for line in lines for word in UNCUT.findall(line))
        assert said == sorted(word for cell in row for word in UNCUT.findall(str(cell)))
    longest = max(columns(word) for row in rows for c in row for word in str(c).split() or [""])
    assert max(columns(line) for lines in found for line in lines) <= max(fit, longest + 2)


def test_table_that_fits_is_not_wrapped_and_bytes_never_are():
    rows = [("0" * 20, "01 02 03 04 05 06 07 08 09 0a 0b 0c", 5)]
    assert len(table_rows(("segment", "bytes", "number"), rows)[1]) == 1
    wide = [("0" * 20, " ".join(["0a"] * 40), "some words", 5)]
    lines = table_rows(("segment", "bytes", "words", "number"), wide)[1]
    assert [line.split() for line in lines] == [["0" * 20], ["0a"] * 40, ["some", "words", "5"]]


def test_columns_of_chinese_cells_stay_aligned():
    lines = table(("key", "partition"), [("订单", 1), ("a", 12)])
    assert [columns(line) for line in lines] == [15, 15, 15]


@given(TEXTS, st.integers(1, 20), st.integers(0, 20))
@example("aaa中", 4, 0)  # it would reach into the next row
@example("中😀é", 4, 3)
def test_every_row_has_as_many_columns_as_bytes(text, row_bytes, shift):
    row_bytes, shift = max(row_bytes, 4), shift % max(row_bytes, 4)
    data = text.encode()
    cells = text_cells(data, row_bytes, shift)
    assert len(cells) == len(data)
    start = -shift
    while start < len(data):
        row = cells[max(start, 0) : start + row_bytes]
        assert columns("".join(row)) == len(row)
        start += row_bytes
    kept = [c for c in text if c.isprintable() and columns(c)]
    assert [c for c in "".join(cells) if c not in " ."] == [c for c in kept if c not in " ."]


@given(st.binary(max_size=40))
def test_bytes_that_are_no_text_are_shown_as_ascii(data):
    cells = text_cells(data, 16)
    assert len(cells) == len(data)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            assert cells == ascii_cells(data)
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in "".join(cells))


def test_text_that_ends_inside_a_character_is_text_up_to_there():
    assert "".join(text_cells("中文".encode()[:5], 16)) == "中 .."


@given(
    st.one_of(st.binary(max_size=300), st.text('中é\x1b"a', max_size=300).map(str.encode)),
    st.integers(24, 80),
)
def test_key_that_is_cut_takes_no_more_columns_and_says_how_long_it_is(data, width):
    said = shown_in(data, width)
    assert columns(said) <= width
    assert said == shown(data) or said.endswith(f" … ({len(data)} bytes)")


@given(st.text("中文 ab-", max_size=200), st.integers(4, 40))
def test_wrapped_text_is_the_same_text_in_so_many_columns(text, width):
    lines = wrap(text, width)
    assert max(map(columns, lines), default=0) <= width
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.text("中文ab。，）", max_size=100), st.integers(8, 40))
def test_no_line_of_a_chinese_text_begins_with_a_full_stop(text, width):
    """But the text itself may."""
    assert not [line for line in wrap(text, width)[1:] if line[0] in "。，）"]


@given(st.text('中文 key\n\t\x1b\u3000"\\', max_size=30))
def test_only_what_cannot_be_printed_is_escaped_in_a_key(text):
    said = shown(text.encode())
    assert said[0] == said[-1] == '"'
    assert all(c.isprintable() or c == "\u3000" for c in said)
    assert [c for c in said if c in "中文"] == [c for c in text if c in "中文"]


def hue_of(rgb: list[float]) -> float | None:
    """The hue in degrees; None for grey."""
    hue, saturation, _ = colorsys.rgb_to_hsv(*rgb)
    return hue * 360 if saturation > 0.05 else None


def test_field_has_the_hue_in_a_terminal_that_it_has_on_pages_and_none_is_red():
    import kminilog

    css = Path(kminilog.__file__).parent.joinpath("templates", "picture.css").read_text()
    fills = re.findall(r"((?:\.f-[a-z-]+,? ?)+)\{ --fill: var\(--([a-z]+)\)", css)
    kinds = {kind: name for names, name in fills for kind in re.findall(r"f-([a-z-]+)", names)}
    assert set(kinds) - {"lost"} == set(FIELD_COLOURS)
    for kind, number in FIELD_COLOURS.items():
        on_page = re.search(rf"--{kinds[kind]}: light-dark\(#([0-9a-f]+)", css)[1]
        pastel = hue_of([int(on_page[n : n + 2], 16) / 255 for n in (0, 2, 4)])
        levels = [(number - 16) // scale % 6 for scale in (36, 6, 1)]
        ours = hue_of([40 * level + 55 if level else 0 for level in levels])
        if number >= 232:
            ours = None
        assert (pastel is None) == (ours is None), kind
        if ours is not None and pastel is not None:
            assert abs(ours - pastel) < 20, kind
            assert 20 < ours < 340, kind
