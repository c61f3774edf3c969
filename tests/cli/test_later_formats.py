"""A `.log` of a later Kafka is named as what it is; the file goes with `format.later_formats`."""

import pytest

from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from tests.support.cli.command_line import assert_one_line
from tests.support.damage import files_of, later_message

pytestmark = pytest.mark.parametrize("magic", [1, 2])


@pytest.mark.parametrize("dialect", ["documented", "kafka"])
@pytest.mark.parametrize("front", [b"", b"rubbish"])
def test_dump_of_a_later_format_names_it(kminilog, tmp_path, front, magic, dialect):
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(front + later_message(magic, 0, b"value"))
    run = kminilog("dump", log, "--dialect", dialect)
    assert_one_line(run, 2, f"at byte {len(front)} stands a ")
    assert f"format v{magic}; here only format v0 is read; `kminilog dump {log}`" in run.err
    told = kminilog("dump", log, "--json").records
    assert [(one["valid"], one.get("magic")) for one in told][-1] == (True, magic)


@pytest.mark.parametrize("is_clean", [True, False])
def test_messages_of_a_later_format_are_never_cut_off(orders, tmp_path, magic, is_clean):
    last_log = max((orders.log_dir / "orders-0").glob("*.log"))
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"again\n")
    later = b"".join(later_message(magic, 20 + n, b"value") for n in range(3))
    last_log.write_bytes(last_log.read_bytes() + later)
    if not is_clean:
        (orders.log_dir / ".clean-shutdown").unlink()
    before = files_of(orders.log_dir / "orders-0")
    after, lost = ("2 whole messages", "3 whole messages")
    if magic == 2:
        after, lost = ("2 whole batches of format v2", "3 whole batches of format v2")
    for writes in (["produce", "orders", lines], ["ingest", lines, "--topic", "orders"]):
        run = orders(*writes)
        assert run.code == 2
        assert f"format v{magic}; {after} after it" in run.err  # without the one that stands there
    run = orders("recover", "orders-0", "--json")
    assert (run.code, run.document["damage"]["class"]) == (1, "bad-magic")
    damage = run.document["damage"]
    assert (damage["lost_messages"], damage["lost_batches"]) == ((3, 0), (0, 3))[magic - 1]
    assert f"with {lost} lost" in orders("recover", "orders-0").out
    assert orders("verify", "orders").code == 1
    assert files_of(orders.log_dir / "orders-0") == before


def test_damage_that_is_whole_in_a_later_format_has_no_v0_fields(kminilog, tmp_path, magic):
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(encode(KAFKA, 0, None, b"v") + later_message(magic, 1, b"value"))
    record = kminilog("dump", log, "--dialect", "kafka", "--json").records[1]
    assert (record["fault"], record["offset"], record["magic"]) == ("bad-magic", 1, magic)
    assert f"format v{magic}" in record["detail"]
    unknown = ("crc", "attributes", "codec", "key_size", "value_size", "key", "value")
    assert [record[name] for name in unknown] == [None] * len(unknown)


def test_step_record_of_a_later_format_names_it(kminilog, tmp_path, magic):
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(later_message(magic, 0, b"value"))
    assert_one_line(kminilog("step", "record", log), 2, f"format v{magic}; here only")
