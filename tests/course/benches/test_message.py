"""The bench of a message says what `dump`, `verify` and `recover` say of the same bytes."""

import json

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.course.benches.message import AFTER, BENCH, changed
from kminilog.format.dialect import DIALECTS
from kminilog.format.message import encode

CHANGES = ("", "set 23 6d", "set 11 02", "set 11 ff", "set 7 09", "set 16 01", "set 21 02")


@pytest.fixture(params=DIALECTS.values(), ids=DIALECTS)
def any_dialect(request):
    return request.param


def lines(command, log_dir):
    ran = CliRunner().invoke(main, ["--log-dir", str(log_dir), *command])
    return json.loads(ran.stdout)


@pytest.mark.parametrize("act", CHANGES)
@pytest.mark.parametrize("place, after", [(0, AFTER), (1, ())], ids=["followed", "last"])
def test_message_bench_answers_what_the_commands_answer(tmp_path, any_dialect, act, place, after):
    acts = [act] if act else []
    name = any_dialect.name
    make = ["topic", "create", "t", "--partitions", "1", "--dialect", name]
    CliRunner().invoke(main, ["--log-dir", str(tmp_path), *make])
    messages = [(b"alice", b"book"), *after]
    data = b"".join(encode(any_dialect, offset, *one) for offset, one in enumerate(messages))
    directory = tmp_path / "t-0"
    (directory / f"{0:020}.log").write_bytes(changed(data, acts))
    (directory / f"{0:020}.index").write_bytes(b"")
    state = BENCH.answer({"dialect": name}, acts).final
    _, verified, recovered = state.tables[1].rows[place]

    found = [
        f"{each['class']}: {one['detail']}"
        for each in lines(["verify", "--json"], tmp_path)["findings"]
        for one in each["samples"]
    ]
    assert verified == ("; ".join(found) or "nothing")

    plan = lines(["recover", "t-0", "--dry-run", "--json"], tmp_path)
    end = plan["cut"] or plan["damage"]
    word = "cuts" if plan["cut"] else "refuses" if plan["damage"] else "nothing"
    assert recovered.startswith(word)
    if end:
        assert f"at byte {end['position']}: {end['lost_bytes']} bytes" in recovered
        assert f"with {end['lost_messages']} whole message" in recovered


def said(*acts, **fields):
    return BENCH.answer(fields, list(acts)).steps[-1].say


def test_wrong_byte_is_named():
    assert "One flipped bit explains it: byte 23, 6d was 6c." in said("set 23 6d")
    assert "One wrong byte explains it: byte 23, 6f was 6c." in said("set 23 6f")
    assert "One wrong byte explains it: byte 11, ff was 13." in said("set 11 ff")
    untold = "The bytes do not tell which is wrong."
    assert untold in said("set 23 6d6d")
    # One byte, but so long a message has others that would explain it.
    assert untold in said("set 30 ff", value="v" * 30)
    assert said("set 7 09").endswith("a valid message, offset 9.")
    assert "explains" not in said("set 23 6d", "set 23 6c")


def test_wrong_crc_and_size_are_red():
    def red(*acts):
        return [one.name for one in BENCH.answer({}, acts).fields if one.kind == "lost"]

    assert red() == []
    assert red("set 23 6d") == ["crc"]
    assert red("set 11 ff") == ["size"]
    assert red("set 7 09") == ["offset"]
    assert red("set 21 7f") == ["crc", "key length"]


def test_values_before_a_change_stand_beside_those_of_now():
    table = BENCH.answer({}, ["set 23 6d"]).final.tables[0]
    assert [table.rows[row] for row in table.marked] == [(22, "key", "amice", "alice")]


@pytest.mark.parametrize(
    "act, told",
    [
        ("set 31 00", "byte: '31' is no number from 0 to 30"),
        ("set 3 9", "'9' is not hex"),
        ("set 3 ''", "'' is not hex"),
        ("set 30 0000", "byte 30: 2 bytes do not fit"),
        ("set 3", "'set 3' is no act of this bench; its acts: set at hex"),
    ],
)
def test_act_that_is_impossible_is_told(act, told):
    with pytest.raises(ValueError) as error:
        said(act)
    assert told in str(error.value)


def test_message_that_is_too_long_is_told():
    with pytest.raises(ValueError, match="at most 256"):
        said(value="v" * 300)
