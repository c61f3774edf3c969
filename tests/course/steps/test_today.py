from hypothesis import example, given
from hypothesis import strategies as st

from kminilog.broker_files.entries import decode_batch
from kminilog.course.steps.today import BATCH, COMMIT, COMPACTED, document
from tests.broker_files.golden_files import java
from tests.support.course.steps.scenes import made

int64 = st.integers(-(1 << 63), (1 << 63) - 1)


def step(text):
    """Return the one step that says this."""
    (found,) = (one for one in made("today").steps if text in one.say)
    return found


def test_today_has_the_bytes_that_javas_client_wrote():
    assert (java("v2-none"), java("v2-commit"), java("v2-none-compacted")) == (
        *(BATCH, COMMIT, COMPACTED),
    )


def test_today_puts_beside_them_the_messages_that_javas_client_wrote_in_v0():
    files = {file.name: file.data for file in made("today").files}
    assert files["messages of format v0"] == java("v0-none")


def test_today_counts_each_byte_of_both_formats_once():
    (table,) = step("needs 61 bytes, once").state.tables
    *rows, total = table.rows
    assert total == ("in all", len(java("v0-none")), len(BATCH))
    assert tuple(map(sum, zip(*(row[1:] for row in rows), strict=True))) == total[1:]


def test_today_right_answers_are_those_of_the_bytes():
    asks = [one.ask for one in made("today").steps if one.ask]
    assert [choice.answer for ask in asks for choice in ask.choices if choice.is_right] == [
        "by byte 16",
        "CRC-32C, attributes to the end",
        "nothing",
        "by the top bit of each byte",
        "100000",
        "4",
        "a marker of a transaction",
        "compaction",
    ]


def test_today_shows_the_records_that_compaction_has_left():
    (table,) = step("after compaction").state.tables
    kept = [offset for offset, what in table.rows if what == "kept"]
    assert kept == [record.offset for record in decode_batch(COMPACTED).records()]


@given(int64)
@example(0)
@example(-1)
@example(-(1 << 63))
@example((1 << 63) - 1)
def test_today_varint_of_any_number_is_told_byte_by_byte(number):
    told = document(number)
    told.check()
    (data,) = (file.data for file in told.files if file.name == "varint")
    steps = [one for one in told.steps if "so far" in one.state.values]
    assert [one.state.values["byte"] for one in steps] == [f"0x{byte:02x}" for byte in data]
    assert [one.state.values["top bit"] for one in steps] == [*[1] * (len(data) - 1), 0]
    unsigned = steps[-1].state.values["so far"]
    # Protocol Buffers, encoding: (n << 1) ^ (n >> 63), in 64 bits
    assert unsigned == ((number << 1) ^ (number >> 63)) & (1 << 64) - 1
    bits = "".join(bar.label for bar in steps[-1].state.picture.lanes[1].bars[::-1])
    assert int(bits, 2) == unsigned
