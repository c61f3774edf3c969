"""`cluster demo`: both figures as text and as JSON."""

import pytest

from tests.cli.command_line import assert_short_form


def last_table(lines):
    """The cells of the table of the last step, without the rows' marks."""
    shown = [line.replace("→", "").split() for line in lines]
    return shown[max(number for number, row in enumerate(shown) if row[:1] == ["second"]) :]


def test_cluster_demo_shows_both_replays_second_by_second(kminilog):
    title = "A broker dies and comes back: send.switch.broker.enable = "
    run = kminilog.ok("cluster", "demo")
    _, on, off = run.out.split(title)
    for replay, value, outcome in (
        (on, "true", "72 messages acknowledged, 0 lost."),
        (off, "false", "66 messages acknowledged, 6 lost."),
    ):
        lines = replay.splitlines()
        assert lines[0] == value
        headings, *seconds = last_table(lines)
        assert headings == ["second", "p0", "p1", "p2", "p3", "retries", "lost", "what", "happens"]
        assert seconds[0] == ["0", "2", "2", "2", "2", "0", "0"]
        assert seconds[3][:2] == ["3", "0"]
        assert seconds[3][-3:] == ["broker", "0", "dies"]
        assert seconds[6] == ["6", "2", "2", "2", "2", "0", "0", "broker", "0", "returns"]
        assert outcome in replay
    assert "No leader for partition 0" in " ".join(off.split())
    assert not kminilog.log_dir.exists()


@pytest.mark.parametrize("switch", ["on", "off"])
def test_cluster_demo_is_the_step_through_of_a_failover_in_short(kminilog, switch):
    options = ["--switch", switch, "--on-failure", "stop", "--seed", 7]
    assert_short_form(kminilog, kminilog.ok("cluster", "demo", *options).out.splitlines(), options)


@pytest.mark.parametrize("seed", [0, 1])
def test_cluster_demo_json_has_the_same_figures(kminilog, seed):
    document = kminilog.ok("cluster", "demo", "--seed", seed, "--json").document
    on, off = document["replays"]
    assert (on["switch"], on["acknowledged"], on["lost"]) == (True, 72, 0)
    assert (off["switch"], off["acknowledged"], off["lost"]) == (False, 66, 6)
    dead = off["seconds"][3]
    assert dead["partitions"] == {"0": 0, "1": 2, "2": 2, "3": 2}
    assert (dead["event"], dead["retries"], dead["lost"]) == ("broker 0 dies", 3, 2)
    assert dead["error"].startswith("No leader")
    assert off["seconds"][6]["event"] == "broker 0 returns"


def test_cluster_demo_can_stop_at_the_first_loss(kminilog):
    run = kminilog.ok("cluster", "demo", "--switch", "off", "--on-failure", "stop", "--json")
    (off,) = run.document["replays"]
    assert (len(off["seconds"]), off["lost"]) == (4, 2)
    assert off["seconds"][-1]["event"].endswith("the sender stops")


def test_cluster_demo_shows_what_another_partitioner_does(kminilog):
    run = kminilog.ok("cluster", "demo", "--switch", "off", "--partitioner", "round-robin")
    title, *lines = run.out.splitlines()
    assert title == "round-robin, send.switch.broker.enable off"
    headings, *seconds = last_table(lines)
    assert headings == ["second", "p0", "p1", "p2", "p3", "lost", "what", "happens"]
    assert seconds[3][:2] == ["3", "0"]
    assert seconds[3][-3:] == ["broker", "0", "dies"]
    assert lines[-1] == "72 messages acknowledged, 0 lost."
