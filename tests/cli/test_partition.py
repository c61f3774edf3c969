"""`partition`: where records go. The numbers of keys are Kafka's (tests/golden/PROVENANCE.md)."""

import shlex
import sys

import pytest

from kminilog.explain.choice import RULES_WITHOUT_KEY
from kminilog.partitioners.registry import PARTITIONERS
from tests.support.cli.command_line import assert_one_line, assert_refused

EXAMPLES = "kminilog.partitioners.examples"
NO_LEADER = ["--partitions", 1, "--unavailable", 0]


def choices(kminilog, *options):
    document = kminilog.ok("partition", *options, "--json").document
    return [choice["partition"] for choice in document["choices"]]


def test_partition_places_keys_as_kafka_does(kminilog):
    keys = ["--key", "TT0124", "--key", "21", "--key", ""]
    run = kminilog.ok("partition", "--partitions", 15, *keys, "--json")
    assert run.document["choices"][0] == {"key": "TT0124", "partition": 10}
    assert [choice["key"] for choice in run.document["choices"]] == ["TT0124", "21", ""]
    assert kminilog.ok("partition", "--partitions", 15, "--key", "TT0124").out == (
        '"TT0124" → partition 10\n'
    )


def test_partition_answers_in_the_order_of_the_options(kminilog):
    options = ["--key-hex", "ff", "--no-key", 2, "--key", "b", "--key-hex", "61", "--key", "é"]
    found = kminilog.ok("partition", "--partitions", 3, *options, "--no-key", 1, "--json").document[
        "choices"
    ]
    assert [{**choice, "partition": None} for choice in found] == [
        {"key_base64": "/w==", "partition": None},
        {"key": None, "partition": None},
        {"key": None, "partition": None},
        {"key": "b", "partition": None},
        {"key": "a", "partition": None},
        {"key": "é", "partition": None},
        {"key": None, "partition": None},
    ]


def test_partition_explain_shows_hash_and_modulo(kminilog):
    out = kminilog.ok("partition", "--partitions", 15, "--key", "foobar", "--explain").out
    assert "      murmur2              = -790332482" in out
    assert "      without the sign bit = 1357151166" in out
    assert "1357151166 % 15 = 6, which is the partition." in out
    (choice,) = kminilog.ok(
        "partition", "--partitions", 15, "--key", "foobar", "--explain", "--json"
    ).document["choices"]
    assert (choice["murmur2"], choice["to_positive"], choice["partition"]) == (
        -790332482,
        1357151166,
        6,
    )


@pytest.mark.parametrize(
    "given",
    [
        ["--key", "TT0124"],
        ["--key", ""],
        ["--key", "it's"],
        ["--key", "grüße"],
        ["--key", "k\n"],
        ["--key-hex", "ff00"],
    ],
)
def test_partition_explains_murmur2_as_the_step_through_does_and_names_it(kminilog, given):
    options = ["--partitions", 15, *given]
    *lines, command, _ = kminilog.ok("partition", *options, "--explain").out.splitlines()
    shown = [line.strip() for line in lines[2:]]
    program, *named = shlex.split(command.removeprefix("    Round by round: "))
    assert program == "kminilog"
    told = [line.strip() for line in kminilog.ok(*named).out.splitlines() if line]
    told = [line for line in told if not line.startswith("key  ")]  # here it is in the first line
    words = " ".join(shown).split()
    assert " ".join(told).split()[-len(words) :] == words


def test_partition_explains_a_key_that_a_step_through_cannot_show(kminilog):
    for key in ("ab" * 40_000, "ab" * 1_000):  # hexadecimal digits
        out = kminilog.ok("partition", "--partitions", 3, "--key-hex", key, "--explain").out
        assert "the partition." in out
        assert "Round by round" not in out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--partitioner", "round-robin", "--no-key", 5], [2, 0, 2, 0, 2]),
        (["--partitioner", "round-robin", "--key", "k", "--no-key", 1], [2, 0]),
        (["--partitioner", "default-0.9", "--key", "21", "--key", "foobar"], [0, 0]),
        (["--partitioner", "default-0.8", "--key", "order4"], [2]),
        (["--partitioner", "default-0.8", "--key-hex", "6f7264657234"], [0]),
        (
            ["--partitioner", "default-0.8", "--key", "order4", "--config", "default-0.8.abs=abs"],
            [0],
        ),
        (["--partitioner", f"{EXAMPLES}.AlwaysTwo", "--key", "zhang"], [2]),
        (["--partitioner", f"{EXAMPLES}:DocumentedExample", "--no-key", 2], [1, 1]),
        (["--partitioner", f"{EXAMPLES}.CorrectedExample", "--no-key", 2], [2, 0]),
        (["--config", "partitioner.class=round-robin", "--no-key", 2], [2, 0]),
    ],
)
def test_partition_by_each_way_in_the_listed_order(kminilog, options, expected):
    listed = ["--partitions", 3, "--order", "1,2,0", "--unavailable", 1]
    assert choices(kminilog, *listed, *options) == expected


def test_partition_of_a_text_and_of_its_bytes_differ_only_in_0_8(kminilog):
    # String.hashCode of "TT0124" is -1811064189, Arrays.hashCode of its bytes -923560508.
    both = ["--partitions", 15, "--key", "TT0124", "--key-hex", "545430313234"]
    assert choices(kminilog, *both) == [10, 10]
    masked = [hashed + 2**31 for hashed in (-1811064189, -923560508)]
    assert choices(kminilog, *both, "--partitioner", "default-0.8") == [n % 15 for n in masked]


def test_partition_key_that_is_no_text_is_bytes(kminilog):
    not_utf8 = b"\xff".decode("utf-8", "surrogateescape")
    both = ["--partitions", 97, "--key", not_utf8, "--key-hex", "ff"]
    assert len(set(choices(kminilog, *both, "--partitioner", "default-0.8"))) == 1


def test_partition_sends_keys_to_partitions_without_leader_unless_failover_is_on(kminilog):
    keys = ["--partitions", 3, "--unavailable", 2] + ["--key", "order4"] * 40
    old = ["--partitioner", "default-0.8", "--seed", 1]
    assert set(choices(kminilog, *keys, *old)) == {2}
    on = ["--config", "send.switch.broker.enable=true"]
    assert set(choices(kminilog, *keys, *old, *on)) == {0, 1}


@pytest.mark.parametrize("name", PARTITIONERS)
def test_partition_with_a_seed_is_repeatable_and_names_the_seed_without(kminilog, name):
    options = ["--partitioner", name, "--partitions", 50, "--config", "batch.size=60"]
    options += ["--no-key", 20, "--key", "k"]
    first = choices(kminilog, *options, "--seed", 5)
    assert choices(kminilog, *options, "--seed", 5) == first
    drawn = kminilog.ok("partition", *options, "--json").document
    again = kminilog.ok("partition", *options, "--seed", drawn["seed"], "--json").document
    assert again == drawn


def test_partition_couples_sticky_ones_with_batches(kminilog):
    # A message without key and value takes 26 bytes, so two fit into 60.
    options = ["--partitions", 5, "--no-key", 40, "--seed", 3, "--config", "batch.size=60"]
    found = choices(kminilog, *options)
    assert found[::2] == found[1::2]
    assert all(one != two for one, two in zip(found[::2], found[2::2], strict=False))
    assert len(set(choices(kminilog, "--partitions", 5, "--no-key", 40))) == 1


def test_partition_built_in_switches_by_bytes(kminilog):
    options = ["--partitioner", "built-in", "--partitions", 100_000, "--no-key", 12, "--seed", 2]
    found = choices(kminilog, *options, "--config", "batch.size=52")
    assert found[::2] == found[1::2]
    assert len(set(found)) == 6


def test_partition_shows_the_double_call_bug(kminilog):
    options = ["--partitioner", "round-robin", "--partitions", 4, "--no-key", 6]
    options += ["--config", "batch.size=0"]
    bug = ["--config", "round-robin.double-call-bug=true"]
    assert choices(kminilog, *options) == [0, 1, 2, 3, 0, 1]
    assert choices(kminilog, *options, *bug) == [1, 3, 1, 3, 1, 3]


# ---- explanations


def unwrapped(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", PARTITIONERS)
def test_partition_explains_every_partitioner(kminilog, name):
    options = ["--partitioner", name, "--partitions", 3, "--unavailable", 1, "--seed", 1]
    out = kminilog.ok("partition", *options, "--key", "k", "--no-key", 1, "--explain").out
    lines = out.splitlines()
    of_key = lines[: next(n for n, line in enumerate(lines) if line.startswith("null"))]
    of_none = lines[len(of_key) :]
    assert f" rule = {RULES_WITHOUT_KEY[name]} " in unwrapped("\n".join(of_none))
    assert "      available = 0, 2 (of 0, 1, 2)" in of_none
    ignore_keys = ("round-robin", "random", "uniform-sticky", "sticky-cache")
    hashed = {"default-0.8": "hash code", **dict.fromkeys(ignore_keys, "rule")}
    assert hashed.get(name, "murmur2") in "".join(of_key)
    assert lines[-1].endswith("--seed 1.")
    found = kminilog.ok(
        "partition", *options, "--key", "k", "--no-key", 1, "--explain", "--json"
    ).document["choices"]
    assert found[1]["rule"] == RULES_WITHOUT_KEY[name]
    assert found[1]["available"] == [0, 2]
    assert found[1]["answers"][-1] == found[1]["partition"]


def test_partition_explains_every_name_of_the_suite():
    assert set(RULES_WITHOUT_KEY) == set(PARTITIONERS)


def test_partition_explains_the_hash_code_the_abs_rule_and_the_failover(kminilog):
    options = ["--partitioner", "default-0.8", "--partitions", 3, "--key", "order4", "--explain"]

    def lines(*more):
        return kminilog.ok("partition", *options, *more).out.splitlines()[1:-1]

    assert lines() == [
        "    String.hashCode of the text is -1008770394; -1008770394 & 0x7fffffff =",
        "    1138713254; 1138713254 % 3 = 2.",
        "      hash code    = -1008770394",
        "      abs          = mask",
        "      not negative = 1138713254",
        "      by the hash  = 2",
        "      available    = 0, 1, 2 (of 0, 1, 2)",
        "      partition    = 2",
    ]

    def said(*more):
        return " ".join(" ".join(lines(*more)).split())

    with_abs = said("--config", "default-0.8.abs=abs")
    assert "; abs(-1008770394) = 1008770394; 1008770394 % 3 = 0. hash code" in with_abs
    down = ["--unavailable", 2]
    off = "That one has no leader. send.switch.broker.enable is off, so the record goes there"
    assert off in said(*down)
    on = ["--config", "send.switch.broker.enable=true", "--unavailable", 1]
    assert "is on, so the record goes to an available one at random: 0. " in said(*down, *on)
    assert "Arrays.hashCode of the bytes is 31; " in said("--key-hex", "00")
    (choice,) = kminilog.ok("partition", *options, "--json").document["choices"]
    assert choice == {
        "key": "order4",
        "partition": 2,
        "hash_code": -1008770394,
        "abs": "mask",
        "non_negative": 1138713254,
        "by_hash": 2,
        "available": [0, 1, 2],
    }


def test_partition_explains_the_second_question_of_a_new_batch(kminilog):
    options = ["--partitions", 2, "--no-key", 2, "--seed", 1, "--explain"]
    found = kminilog.ok("partition", *options, "--json").document["choices"]
    first, second = found[0]["answers"]
    assert first != second == found[0]["partition"]
    assert found[1]["answers"] == [second]
    out = " ".join(kminilog.ok("partition", *options).out.split())
    assert out.count("where no batch has room. The producer asked again") == 1
    assert f"default-2.4 chose partition {first} first, where" in out
    assert f"and it chose partition {second}." in out
    assert out.count(f"The rule chooses partition {second}.") == 1


def test_partition_explains_that_built_in_ignores_keys_if_told(kminilog):
    options = ["--partitioner", "built-in", "--partitions", 3, "--key", "k", "--explain"]
    ignoring = ["--config", "partitioner.ignore.keys=true"]
    assert "murmur2" in kminilog.ok("partition", *options).out
    out = kminilog.ok("partition", *options, *ignoring).out
    assert "murmur2" not in out
    assert RULES_WITHOUT_KEY["built-in"] in unwrapped(out)


def test_partition_explains_that_there_is_no_leader_at_all(kminilog):
    down = ["--unavailable", 0, "--unavailable", 1]
    options = ["--partitioner", "round-robin", "--partitions", 2, *down, "--no-key", 1]
    out = kminilog.ok("partition", *options, "--explain").out
    assert "      available = none, so any counts (of 0, 1)" in out


def test_partition_explains_classes_of_both_interfaces(kminilog):
    both = ["--partitions", 3, "--key", "zhang", "--no-key", 1, "--seed", 1, "--explain"]
    old = f"{EXAMPLES}.AlwaysTwo"
    out = unwrapped(kminilog.ok("partition", "--partitioner", old, *both).out)
    assert f"the answer of {old} to (key, 3) " in out
    assert f"{old} places only records with a key: the cached partition;" in out
    on = ["--config", "send.switch.broker.enable=true"]
    assert "if that has no leader" in kminilog.ok("partition", "--partitioner", old, *both, *on).out
    new = f"{EXAMPLES}.CorrectedExample"
    out = unwrapped(kminilog.ok("partition", "--partitioner", new, *both).out)
    assert f"the answer of {new} " in out


# ---- classes of one's own, and errors

OWN = """
class Last:
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        return len(cluster.partitions_for_topic(topic)) - 1
"""


@pytest.mark.parametrize("path", ["my_own_partitioner.Last", "my_own_partitioner:Last"])
def test_partition_finds_a_class_in_the_current_directory(kminilog, tmp_path, monkeypatch, path):
    (tmp_path / "my_own_partitioner.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.delitem(sys.modules, "my_own_partitioner", raising=False)
    assert choices(kminilog, "--partitions", 7, "--key", "k", "--partitioner", path) == [6]


WRONG = [
    ("--partitions 3", "give at least one --key, --key-hex or --no-key"),
    ("--key k", "--partitions"),
    ("--partitions 0 --key k", "a topic has 1 to 100000 partitions, not 0"),
    ("--partitions 100001 --key k", "a topic has 1 to 100000 partitions"),
    ("--partitions 3 --key-hex 00 --key-hex zz", "'zz': give pairs of hex"),
    ("--partitions 3 --no-key 0", "--no-key"),
    ("--partitions 3 --no-key 1000001", "1<=x<=1000000"),
    ("--partitions 3 --key k --partitioner nope", "there is: default-0.8, "),
    ("--partitions 3 --key k --partitioner nope.Mine", "cannot import nope"),
    ("--partitions 3 --key k --partitioner ''", "there is: default-0.8, "),
    ("--partitions 3 --key k --config acks", "give it as name=value"),
    ("--partitions 3 --key k --config segment.bytes=9", "unknown"),
    ("--partitions 3 --key k --order 0,1", "name each partition from 0 to 2"),
    ("--partitions 3 --key k --order 0,1,1", "name each partition from 0 to 2"),
    ("--partitions 3 --key k --order a", "name each partition from 0 to 2"),
    ("--partitions 3 --key k --interval -1", "-1 is not in the range"),
    ("--partitions 3 --key k --interval 1.5", "'1.5' is no whole number"),
    ("--partitions 3 --key k --interval 9223372036854775808", "is not in the range"),
    (f"--partitions 3 --key k --partitioner {EXAMPLES}.Nope", "Nope"),
    ("--partitions 3 --key k --unavailable 3", "partitions run from 0 to 2"),
    ("--partitions 3 --key k --unavailable -1", "partitions run from 0 to 2"),
    (f"--partitions 2 --key k --partitioner {EXAMPLES}.AlwaysTwo", "[0, 1]"),
    (
        f"--partitions 3 --key 21 --partitioner {EXAMPLES}.DocumentedExample",
        "Invalid partition id: 2147483646",
    ),
    (
        f"--partitions 1 --unavailable 0 --key 21 --partitioner {EXAMPLES}.DocumentedExample",
        "partition raised ZeroDivisionError",
    ),
    (
        "--partitions 1 --unavailable 0 --key k --no-key 1 --partitioner default-0.8",
        "No leader for any partition",
    ),
]


def test_partition_bad_input_is_one_line(kminilog, tmp_path):
    assert_refused(kminilog, tmp_path, WRONG, "partition")


def test_partition_shows_several_partitioners_side_by_side(kminilog):
    names = ("default-2.4", "default-0.8", "round-robin")
    options = [option for name in names for option in ("--partitioner", name)]
    keys = ["--partitions", 7, "--key", "alice", "--no-key", 2, "--seed", 1]
    headings, alice, first, second = kminilog.ok("partition", *keys, *options).out.splitlines()
    assert headings.split() == ["key", *names]
    document = kminilog.ok("partition", *keys, *options, "--json").document
    for name, found in zip(names, document["partitioners"], strict=True):
        alone = kminilog.ok("partition", *keys, "--partitioner", name, "--json").document
        assert found == alone
    for line, number in ((alice, 0), (first, 1), (second, 2)):
        placed = [each["choices"][number]["partition"] for each in document["partitioners"]]
        assert [int(cell) for cell in line.split()[1:]] == placed
    refused = kminilog("partition", *keys, *options, "--explain")
    assert_one_line(refused, 2, "--explain takes one --partitioner")


@pytest.mark.parametrize(
    ("other", "told_of"),
    [
        ("default-0.9", ["default-2.4", "default-0.9"]),
        ("round-robin", []),
        (f"{EXAMPLES}.ByTime", []),
    ],
)
def test_partition_comparing_tells_of_a_setting_only_if_none_may_read_it(kminilog, other, told_of):
    bug = ["--config", "round-robin.double-call-bug=true"]
    names = ["--partitioner", "default-2.4", "--partitioner", other]
    told = kminilog("partition", "--partitions", 3, "--key", "k", *names, *bug).err.splitlines()
    assert told == [
        "kminilog: setting round-robin.double-call-bug has no effect: "
        f"{name} ignores it; it is for round-robin"
        for name in told_of
    ]


# ---- time that passes between records


def test_partition_interval_forgets_the_cached_partition_of_0_8_after_ten_minutes(kminilog):
    options = ["--partitions", 1000, "--partitioner", "default-0.8", "--no-key", 6, "--seed", 1]

    def at_each_time(interval_ms):
        document = kminilog.ok("partition", *options, "--interval", interval_ms, "--json").document
        return {each["at_ms"]: each["partition"] for each in document["choices"]}

    early = at_each_time(200_000)  # exactly ten minutes are not too old
    assert list(early) == [0, 200_000, 400_000, 600_000, 800_000, 1_000_000]
    assert len({early[at_ms] for at_ms in (0, 200_000, 400_000, 600_000)}) == 1
    assert len({early[at_ms] for at_ms in (800_000, 1_000_000)}) == 1
    assert early[800_000] != early[600_000]
    late = at_each_time(600_001)
    assert len(set(late.values())) == 6
    assert len(set(at_each_time(0).values())) == 1


def test_partition_without_interval_shows_no_times_and_no_time_passes(kminilog):
    options = ["--partitions", 9, "--partitioner", "default-0.8", "--no-key", 3, "--seed", 1]
    document = kminilog.ok("partition", *options, "--json").document
    assert all("at_ms" not in each for each in document["choices"])
    assert len({each["partition"] for each in document["choices"]}) == 1


def test_partition_interval_shows_each_time_in_text_and_side_by_side(kminilog):
    by_time = ["--partitioner", f"{EXAMPLES}.ByTime"]
    options = ["--partitions", 3, "--no-key", 2, "--key", "k", "--interval", 3_600_000]
    assert kminilog.ok("partition", *options, *by_time).out.splitlines() == [
        "0 ms: null → partition 0",
        "3600000 ms: null → partition 1",
        '7200000 ms: "k" → partition 2',
    ]
    both = kminilog.ok("partition", *options, *by_time, "--partitioner", "round-robin").out
    assert [line.split()[:3] for line in both.splitlines()[1:]] == [
        ["0", "null", "0"],
        ["3600000", "null", "1"],
        ["7200000", '"k"', "2"],
    ]
