"""`partition`: where keys go. The numbers are Kafka's (tests/golden/PROVENANCE.md)."""

import pytest

from tests.cli.command_line import assert_one_line


def test_partition_places_keys_as_kafka_does(kminilog):
    keys = ["--key", "TT0124", "--key", "21", "--key", ""]
    run = kminilog.ok("partition", "--partitions", 15, *keys, "--json")
    assert run.document["choices"][0] == {"key": "TT0124", "partition": 10}
    assert [choice["key"] for choice in run.document["choices"]] == ["TT0124", "21", ""]
    assert kminilog.ok("partition", "--partitions", 15, "--key", "TT0124").out == (
        '"TT0124" → partition 10\n'
    )


def test_partition_answers_in_the_order_of_the_keys(kminilog):
    options = ["--key-hex", "ff", "--key", "b", "--key-hex", "61", "--key", "é"]
    choices = kminilog.ok("partition", "--partitions", 3, *options, "--json").document["choices"]
    assert [choice.get("key", choice.get("key_base64")) for choice in choices] == [
        "/w==",
        "b",
        "a",
        "é",
    ]


def test_partition_explain_shows_hash_and_modulo(kminilog):
    out = kminilog.ok("partition", "--partitions", 15, "--key", "foobar", "--explain").out
    assert "murmur2      -790332482" in out
    assert "-790332482 & 0x7fffffff = 1357151166" in out
    assert "1357151166 % 15 = 6" in out
    (choice,) = kminilog.ok(
        "partition", "--partitions", 15, "--key", "foobar", "--explain", "--json"
    ).document["choices"]
    assert (choice["murmur2"], choice["to_positive"], choice["partition"]) == (
        -790332482,
        1357151166,
        6,
    )


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--partitions", 3], "--key"),
        (["--key", "k"], "--partitions"),
        (["--partitions", 0, "--key", "k"], "at least one partition"),
        (["--partitions", -2, "--key", "k"], "at least one partition"),
        (["--partitions", 3, "--key-hex", "zz"], "hexadecimal"),
        (["--partitions", 3, "--key", "k", "--partitioner", "nope"], "there is: default-2.4"),
        (["--partitions", 3, "--no-key", "2"], "--no-key"),
    ],
)
def test_partition_bad_input_is_one_line(kminilog, options, part):
    assert_one_line(kminilog("partition", *options), 2, part)
