"""What every bench does with its form and its acts."""

import re

import pytest

from kminilog.course.benches.bench import Bench, BenchAct, BenchField, whole_number
from kminilog.course.benches.registry import BENCHES, bench_of
from kminilog.explain.document import ByteRange, Cost, Document, Field, File, State, Step
from kminilog.explain.page import render_last_step


def told(fields, acts):
    step = Step(f"{dict(fields)} {list(acts)}", None, (), State({}, {}, ()), Cost())
    return Document("b", "b", (), (), (step,))


BENCH = Bench(
    "b",
    "b",
    (BenchField("dialect", "dialect", "kafka", ("documented", "kafka")),),
    (BenchAct("append", "Append", (BenchField("key", "key"), BenchField("value", "value"))),),
    told,
)


def test_bench_takes_the_default_of_a_field_that_is_not_given():
    assert "'kafka'" in BENCH.answer({}, []).steps[-1].say


def test_bench_passes_acts_as_they_are():
    act = "append k 'red apple'"
    assert BENCH.answer({}, [act]).steps[-1].say.endswith(f"{[act]}")


@pytest.mark.parametrize(
    "fields, act, said",
    [
        ({"dialect": "x"}, "append k v", "dialect: 'x' is none of: documented, kafka"),
        ({}, "append k", "'append k' is no act of this bench; its acts: append key value"),
        ({}, "", "'' is no act"),
        ({}, "append 'k", "No closing quotation"),
    ],
)
def test_bench_says_in_one_line_what_it_does_not_take(fields, act, said):
    with pytest.raises(ValueError) as told:
        BENCH.answer(fields, [act])
    assert said in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("text", ["-1", "11", "05", "0" * 25 + "99", "9" * 5000, "٣", "²", ""])
def test_number_is_one_of_its_range_as_one_writes_it(text):
    with pytest.raises(ValueError, match=r"n: .* is no number from 0 to 10"):
        whole_number(text, "n", 0, 10)


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_begins_with_a_document(name):
    bench = bench_of(name)
    document = bench.answer({}, [])
    document.check()
    assert (bench.name, document.name) == (name, name)


@pytest.mark.parametrize("name", ["murmur2", "record"])
def test_half_a_character_is_a_question_mark(name):
    bench = bench_of(name)
    assert bench.answer({"key": "\ud800"}, []) == bench.answer({"key": "?"}, [])


def test_unknown_bench_is_told():
    with pytest.raises(ValueError, match="'nothing' is no bench"):
        bench_of("nothing")


def test_bytes_in_focus_are_shown_and_no_more_than_fit():
    data = bytes(1000)
    fields = tuple(Field("f", at, at + 100, "value", "value", None) for at in range(0, 1000, 100))
    files = (File("f", data, 0, 1000), File("other", b"o", 0, 1))
    fields += (Field("other", 0, 1, "value", "value", None),)

    def shown(*focus):
        state = State({"f": 1000, "other": 1}, {}, ())
        step = Step("", None, focus, state, Cost())
        return re.findall(
            r'data-at="(\d+)"', render_last_step(Document("", "", files, fields, (step,)))
        )

    assert [int(at) for at in shown()] == [*range(256), 0]
    assert [int(at) for at in shown(ByteRange("f", 730, 740))] == [*range(700, 956)]


def test_neighbours_with_the_same_fields_share_a_form():
    member = (BenchField("member", "Member"),)
    acts = (
        BenchAct("kill", "Kill", member),
        BenchAct("wake", "Wake", member),
        BenchAct("wait", "Wait"),
    )
    assert BENCH._replace(acts=acts).forms == [(member, [*acts[:2]]), ((), [acts[2]])]
