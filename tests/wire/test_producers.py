"""Idempotent producers: each batch is stored once, whatever happens between its two sendings."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.segment.segment import Segment
from kminilog.wire import producers
from kminilog.wire.errors import Code, RefusedError
from kminilog.wire.producers import (
    KNOWN_BATCHES,
    KNOWN_PRODUCERS,
    PRODUCERS_DIR,
    IdempotentProducers,
    KnownBatch,
    Stored,
)
from kminilog.wire.record_sets import Sequence
from tests.support.wire.exchange import Exchange
from tests.support.wire.record_sets import Producer, batch_of, set_of

LAST = (1 << 31) - 1


def sent(exchange, first, values, *, number=7, epoch=0, **options):
    """Send a batch; return the error code and the base offset."""
    data = batch_of([(None, value) for value in values], producer=Producer(number, epoch, first))
    answer = exchange.produce(data, **options)
    return Code(answer["error_code"]), answer["base_offset"]


def numbered(first: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


@pytest.fixture
def exchange(tmp_path):
    with Exchange(tmp_path / "log-dir") as found:
        found.create()
        yield found


# ---- what is told of a batch


def test_batch_that_comes_again_is_stored_once_and_gets_the_same_answer(exchange):
    assert sent(exchange, 0, numbered(0, 3)) == (Code.NONE, 0)
    assert sent(exchange, 3, numbered(3, 2)) == (Code.NONE, 3)
    for _ in range(2):
        assert sent(exchange, 0, numbered(0, 3)) == (Code.NONE, 0)
        assert sent(exchange, 3, numbered(3, 2)) == (Code.NONE, 3)
    assert exchange.values() == numbered(0, 5)


def test_what_a_batch_has_that_is_not_stored_is_counted_once(exchange):
    for _ in range(3):
        sent(exchange, 0, numbered(0, 3))
    assert exchange.broker.messages.dropped["timestamps"] == 3


def test_batch_is_not_known_in_another_partition_or_by_another_producer(exchange):
    exchange.create("views")
    for number, topic in ((7, "orders"), (8, "orders"), (7, "views")):
        assert sent(exchange, 0, [b"a"], number=number, topic=topic)[0] is Code.NONE
    assert (exchange.values(), exchange.values("views")) == ([b"a", b"a"], [b"a"])


def test_batch_that_is_out_of_order_is_refused(exchange):
    sent(exchange, 0, numbered(0, 3))
    for first in (1, 2, 4, 9):
        assert sent(exchange, first, [b"x"]) == (Code.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert sent(exchange, 0, numbered(0, 2))[0] is Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert exchange.values() == numbered(0, 3)
    assert sent(exchange, 3, [b"3"]) == (Code.NONE, 3)


def test_batch_that_is_older_than_the_known_ones_is_refused_and_not_stored(exchange):
    for first in range(KNOWN_BATCHES + 1):
        sent(exchange, first, [b"%d" % first])
    assert sent(exchange, 0, [b"0"])[0] is Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    for first in range(1, KNOWN_BATCHES + 1):
        assert sent(exchange, first, [b"%d" % first]) == (Code.NONE, first)
    assert exchange.values() == numbered(0, KNOWN_BATCHES + 1)


def test_newer_epoch_begins_at_0_and_the_older_one_is_refused(exchange):
    sent(exchange, 0, numbered(0, 3))
    assert sent(exchange, 3, [b"x"], epoch=1)[0] is Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert sent(exchange, 0, [b"3"], epoch=1) == (Code.NONE, 3)
    assert sent(exchange, 3, [b"x"])[0] is Code.INVALID_PRODUCER_EPOCH
    assert sent(exchange, 0, numbered(0, 3))[0] is Code.INVALID_PRODUCER_EPOCH
    assert exchange.values() == numbered(0, 4)


def test_producer_that_is_not_known_may_begin_anywhere(exchange):
    assert sent(exchange, 500, [b"a"]) == (Code.NONE, 0)
    assert sent(exchange, 501, [b"b"]) == (Code.NONE, 1)


def test_after_the_greatest_sequence_comes_0(exchange):
    assert sent(exchange, LAST - 1, numbered(0, 5)) == (Code.NONE, 0)
    assert sent(exchange, 3, numbered(5, 2)) == (Code.NONE, 5)
    assert sent(exchange, LAST - 1, numbered(0, 5)) == (Code.NONE, 0)
    assert sent(exchange, 5, [b"7"]) == (Code.NONE, 7)
    assert exchange.values() == numbered(0, 8)


def test_plain_messages_between_are_of_nobody(exchange):
    sent(exchange, 0, numbered(0, 2))
    exchange.produce(set_of([(None, b"x")]))
    assert sent(exchange, 2, [b"2"]) == (Code.NONE, 3)
    assert sent(exchange, 0, numbered(0, 2)) == (Code.NONE, 0)
    assert exchange.values() == [b"0", b"1", b"x", b"2"]


# ---- restarts


def test_batches_are_known_after_a_restart(tmp_path):
    with Exchange(tmp_path) as first:
        first.create()
        sent(first, 0, numbered(0, 3))
        sent(first, 3, numbered(3, 2))
    for _ in range(2):
        with Exchange(tmp_path) as again:
            assert sent(again, 0, numbered(0, 3)) == (Code.NONE, 0)
            assert sent(again, 3, numbered(3, 2)) == (Code.NONE, 3)
            assert sent(again, 9, [b"x"])[0] is Code.OUT_OF_ORDER_SEQUENCE_NUMBER
            assert again.values() == numbered(0, 5)


@contextmanager
def dying_in_the_next_append(monkeypatch, stored: int):
    """The next append ends after some of its messages, as a kill -9 would end it."""
    real = PartitionLog._append

    def append(log, messages, now_ms):
        real(log, messages[:stored], now_ms)
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(PartitionLog, "_append", append)
        patched.setattr(IdempotentProducers, "take_back", lambda self: None)
        with pytest.raises(SystemExit):
            yield


@pytest.mark.parametrize("stored", [0, 1, 2, 3])
def test_rest_of_a_batch_that_a_kill_has_cut_is_stored_when_it_comes_again(
    tmp_path, monkeypatch, stored
):
    first = Exchange(tmp_path)
    first.create()
    sent(first, 0, [b"a", b"b"])
    with dying_in_the_next_append(monkeypatch, stored):
        sent(first, 2, numbered(0, 3))
    first.kill()
    with Exchange(tmp_path) as again:
        for _ in range(3):
            assert sent(again, 2, numbered(0, 3)) == (Code.NONE, 2)
        assert sent(again, 5, [b"next"]) == (Code.NONE, 5)
        assert again.values() == [b"a", b"b", *numbered(0, 3), b"next"]
    with Exchange(tmp_path) as again:
        assert sent(again, 2, numbered(0, 3)) == (Code.NONE, 2)
        assert sent(again, 5, [b"next"]) == (Code.NONE, 5)


@pytest.mark.parametrize("stored", [0, 1, 2, 3])
def test_messages_of_others_after_a_kill_are_not_taken_for_the_rest_of_a_batch(
    tmp_path, monkeypatch, stored
):
    """They come before the batch comes again, and even before its producer is heard of."""
    first = Exchange(tmp_path)
    first.create()
    with dying_in_the_next_append(monkeypatch, stored):
        sent(first, 0, numbered(0, 3))
    first.kill()
    others = [b"x"] * 5
    with Exchange(tmp_path) as again:
        again.produce(set_of([(None, value) for value in others]))
    for _ in range(2):
        with Exchange(tmp_path) as again:
            for _ in range(2):
                assert sent(again, 0, numbered(0, 3))[0] is Code.NONE
            whole = numbered(0, 3)
            assert again.values() == whole[:stored] + others + whole[stored:]


def test_half_of_a_batch_stays_known_when_the_rest_cannot_be_stored(tmp_path, monkeypatch):
    first = Exchange(tmp_path)
    first.create()
    with dying_in_the_next_append(monkeypatch, 1):
        sent(first, 0, numbered(0, 3))
    first.kill()
    with Exchange(tmp_path) as again:
        with failing_writes(monkeypatch):
            assert sent(again, 0, numbered(0, 3))[0] is Code.KAFKA_STORAGE_ERROR
        assert sent(again, 0, numbered(0, 3)) == (Code.NONE, 0)
        assert again.values() == numbered(0, 3)


@contextmanager
def failing_writes(monkeypatch):
    """A full disk: no segment can be written."""

    def write(segment):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Segment, "write", write)
        yield


def test_batch_whose_append_failed_is_new_when_it_comes_again(exchange, monkeypatch):
    sent(exchange, 0, [b"0"])
    with failing_writes(monkeypatch):
        assert sent(exchange, 1, numbered(1, 2)) == (Code.KAFKA_STORAGE_ERROR, -1)
    exchange.produce(set_of([(None, b"x")] * 3))
    assert sent(exchange, 1, numbered(1, 2)) == (Code.NONE, 4)
    assert exchange.values() == [b"0", b"x", b"x", b"x", b"1", b"2"]


def test_batch_whose_append_failed_is_new_after_a_restart_too(tmp_path, monkeypatch):
    with Exchange(tmp_path) as first:
        first.create()
        sent(first, 0, [b"0"])
        with failing_writes(monkeypatch):
            sent(first, 1, numbered(1, 2))
        first.produce(set_of([(None, b"x")] * 3))
    with Exchange(tmp_path) as again:
        assert sent(again, 1, numbered(1, 2)) == (Code.NONE, 4)
        assert again.values() == [b"0", b"x", b"x", b"x", b"1", b"2"]


def test_batch_that_a_topic_cannot_store_is_not_known(exchange):
    exchange.create("small", max_message_bytes=100)
    big = [b"v" * 200]
    assert sent(exchange, 0, big, topic="small")[0] is Code.MESSAGE_TOO_LARGE
    assert sent(exchange, 0, [b"a"], topic="small") == (Code.NONE, 0)
    assert exchange.values("small") == [b"a"]


@pytest.mark.parametrize("written", [0, 7])
def test_entry_that_cannot_be_written_is_cut_off_and_nothing_is_appended(
    tmp_path, monkeypatch, written
):
    real = os.write
    with Exchange(tmp_path) as first:
        first.create()
        sent(first, 0, [b"0"])
        with monkeypatch.context() as patched:
            patched.setattr(
                producers.os, "write", lambda descriptor, data: real(descriptor, data[:written])
            )
            assert sent(first, 1, [b"1"]) == (Code.KAFKA_STORAGE_ERROR, -1)
        assert first.values() == [b"0"]
        assert sent(first, 1, [b"1"]) == (Code.NONE, 1)
    with Exchange(tmp_path) as again:
        assert sent(again, 1, [b"1"]) == (Code.NONE, 1)
        assert again.values() == numbered(0, 2)


def test_log_that_a_failed_write_has_broken_acknowledges_nothing_until_a_restart(
    tmp_path, monkeypatch
):
    exchange = Exchange(tmp_path)
    exchange.create()
    sent(exchange, 0, [b"0"])
    file = tmp_path / PRODUCERS_DIR / "orders-0"
    with failing_writes(monkeypatch), monkeypatch.context() as patched:

        def restore(log, mark):
            raise OSError(5, "Input/output error")

        patched.setattr(PartitionLog, "_restore", restore)
        assert sent(exchange, 1, [b"1", b"2"])[0] is Code.KAFKA_STORAGE_ERROR
    size = file.stat().st_size
    for _ in range(2):
        assert sent(exchange, 1, [b"1", b"2"])[0] is Code.KAFKA_STORAGE_ERROR
        assert sent(exchange, 3, [b"3"])[0] is Code.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert file.stat().st_size == size
    exchange.kill()
    with Exchange(tmp_path) as again:
        for _ in range(2):
            assert sent(again, 1, [b"1", b"2"]) == (Code.NONE, 1)
        assert again.values() == numbered(0, 3)


def test_file_that_cannot_be_read_under_a_new_leader_is_read_at_the_next_request(
    exchange, monkeypatch
):
    sent(exchange, 0, [b"0"])
    known = exchange.broker.messages._producers
    ((partition, (epoch, its)),) = known.items()
    known[partition] = epoch - 1, its  # as the leader of before knew it

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(IdempotentProducers, "_write_anew", full)
        assert sent(exchange, 1, [b"1"])[0] is Code.KAFKA_STORAGE_ERROR
    assert sent(exchange, 0, [b"0"]) == (Code.NONE, 0)
    assert sent(exchange, 1, [b"1"]) == (Code.NONE, 1)


# ---- topics that come and go


def test_producers_of_a_deleted_topic_are_forgotten(exchange):
    sent(exchange, 0, numbered(0, 3))
    exchange("DeleteTopics", 1, {"topic_names": ["orders"]})
    assert not (exchange.writer.path / PRODUCERS_DIR / "orders-0").exists()
    exchange.create()
    assert sent(exchange, 0, numbered(0, 3)) == (Code.NONE, 0)
    assert exchange.values() == numbered(0, 3)


def test_entries_of_an_earlier_topic_of_the_name_do_not_count(tmp_path):
    """Another command has deleted it, and made it anew."""
    with Exchange(tmp_path) as first:
        first.create()
        sent(first, 0, numbered(0, 3))
    with LogDirWriter.open(tmp_path) as writer:
        writer.delete_topic("orders")
    with Exchange(tmp_path, seed=2) as again:
        again.create()
        again.produce(set_of([(None, b"x")] * 5))
        assert sent(again, 0, numbered(0, 3)) == (Code.NONE, 5)


def test_entries_count_as_far_as_the_log_goes(tmp_path):
    with Exchange(tmp_path) as first:
        first.create()
        sent(first, 0, numbered(0, 2))
        copy = tmp_path.parent / "copy"
        shutil.copytree(tmp_path, copy)
        sent(first, 2, numbered(2, 2))
        shutil.copytree(tmp_path / PRODUCERS_DIR, copy / PRODUCERS_DIR, dirs_exist_ok=True)
    with Exchange(copy) as again:
        assert again.values() == numbered(0, 2)
        assert sent(again, 0, numbered(0, 2)) == (Code.NONE, 0)
        assert sent(again, 2, numbered(2, 2)) == (Code.NONE, 2)
        assert again.values() == numbered(0, 4)


# ---- the file


def entry(number: int, first: int, records: int, offset: int, epoch: int = 0) -> KnownBatch:
    return KnownBatch(Sequence(number, epoch, first), records, offset)


def noted(path: Path, entries: list[KnownBatch], topic_id: str = "t") -> None:
    known = IdempotentProducers(path, topic_id, 0)
    for each in entries:
        known.begin(each)
        known.learn(each)
    known.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / PRODUCERS_DIR / "orders-0"


def test_file_with_a_damaged_entry_counts_up_to_there(path):
    noted(path, [entry(7, 0, 2, 0), entry(7, 2, 2, 2), entry(7, 4, 2, 4)])
    data = bytearray(path.read_bytes())
    data[-45] ^= 1
    path.write_bytes(data)
    known = IdempotentProducers(path, "t", 6)
    assert known.stored(Sequence(7, 0, 0), 2) == Stored(2, 0)
    assert known.stored(Sequence(7, 0, 2), 2) is None
    known.close()


@pytest.mark.parametrize("cut", range(1, 30, 7))
def test_file_with_a_torn_entry_counts_up_to_there(path, cut):
    noted(path, [entry(7, 0, 2, 0), entry(7, 2, 2, 2)])
    path.write_bytes(path.read_bytes()[:-cut])
    known = IdempotentProducers(path, "t", 4)
    assert known.stored(Sequence(7, 0, 0), 2) == Stored(2, 0)
    known.begin(entry(7, 2, 2, 4))
    known.learn(entry(7, 2, 2, 4))
    known.close()
    again = IdempotentProducers(path, "t", 6)
    assert again.stored(Sequence(7, 0, 2), 2) == Stored(2, 4)
    again.close()


@pytest.mark.parametrize("data", [b"", b"t", b"t\n", b"other\n" + bytes(60), b"t\n" + bytes(90)])
def test_file_that_is_none_is_as_no_file(path, data):
    path.parent.mkdir()
    path.write_bytes(data)
    known = IdempotentProducers(path, "t", 100)
    assert known.stored(Sequence(0, 0, 0), 1) is None
    known.close()


def test_file_stays_small_and_knows_the_last_batches(path, monkeypatch):
    monkeypatch.setattr(producers, "_FEW_ENTRIES", 100)
    known = IdempotentProducers(path, "t", 0)
    for number in range(1000):
        known.begin(entry(number % 3, number // 3, 1, number))
        known.learn(entry(number % 3, number // 3, 1, number))
        assert path.stat().st_size <= 101 * 30
    known.close()
    again = IdempotentProducers(path, "t", 1000)
    assert again.stored(Sequence(0, 0, 333), 1) == Stored(1, 999)
    assert [*path.parent.iterdir()] == [path]
    again.close()


def test_file_in_which_most_entries_count_is_not_written_anew_for_each_batch(path, monkeypatch):
    monkeypatch.setattr(producers, "_FEW_ENTRIES", 100)
    known = IdempotentProducers(path, "t", 0)
    files = set()
    for number in range(1000):
        known.begin(entry(number % 90, number // 90, 1, number))
        known.learn(entry(number % 90, number // 90, 1, number))
        files.add(path.stat().st_ino)
    known.close()
    assert 1 < len(files) < 10


@pytest.mark.parametrize("is_known", [True, False])
def test_later_leader_refuses_a_gap_only_so_often(path, is_known):
    """The batch before may be gone for good: then the client has to hear of it."""
    noted(path, [entry(7, 0, 2, 0)] if is_known else [])
    known = IdempotentProducers(path, "t", 2, is_later=True)
    for _ in range(10):
        with pytest.raises(RefusedError, match="to be sent again") as refused:
            known.stored(Sequence(7, 0, 4), 2)
        assert refused.value.code is Code.NOT_LEADER_OR_FOLLOWER
    if is_known:
        with pytest.raises(RefusedError, match="sequence 4, but 2 is the next one"):
            known.stored(Sequence(7, 0, 4), 2)
    else:
        assert known.stored(Sequence(7, 0, 4), 2) is None
    known.close()


def test_later_leader_knows_only_so_many_producers_that_it_has_refused(path, monkeypatch):
    monkeypatch.setattr(producers, "KNOWN_PRODUCERS", 3)
    known = IdempotentProducers(path, "t", 0, is_later=True)
    for number in range(100):
        with pytest.raises(RefusedError, match="to be sent again"):
            known.stored(Sequence(number, 0, 4), 2)
        known.learn(entry(number, 4, 1, number))
    assert len(known._refusals_left) == 3
    known.close()


def test_of_too_many_producers_the_one_that_was_silent_longest_is_forgotten(path, monkeypatch):
    monkeypatch.setattr(producers, "KNOWN_PRODUCERS", 3)
    assert KNOWN_PRODUCERS >= 1000
    known = IdempotentProducers(path, "t", 0)
    for offset, number in enumerate([1, 2, 3, 1, 4]):
        first = 1 if offset == 3 else 0
        known.learn(entry(number, first, 1, offset))
    found = [known.stored(Sequence(number, 0, 0), 1) for number in (1, 2, 3, 4)]
    assert found == [Stored(1, 0), None, Stored(1, 2), Stored(1, 4)]
    known.close()


@pytest.mark.parametrize("rounds", [150, pytest.param(5000, marks=pytest.mark.soak)])
def test_random_batches_against_a_plain_list(tmp_path, monkeypatch, rounds, without_fsync):
    """Sends, sends again, restarts and kills at random: the log is what the list says."""
    chance = Random(11)
    exchange = Exchange(tmp_path / "log-dir")
    exchange.create()
    expected: list[bytes] = []
    sequences = {1: LAST - 20, 2: 0}
    last: dict[int, tuple[int, list[bytes]]] = {}
    for step in range(rounds):
        number = chance.choice((1, 2))
        act = chance.random()
        if act < 0.5 or number not in last:
            values = [b"%d-%d-%d" % (number, step, each) for each in range(chance.randrange(1, 6))]
            last[number] = sequences[number], values
            sequences[number] = (sequences[number] + len(values)) & LAST
            stored = len(values)
            if act < 0.1:
                stored = chance.randrange(len(values) + 1)
                with dying_in_the_next_append(monkeypatch, stored):
                    sent(exchange, *last[number], number=number)
                exchange.kill()
                exchange = Exchange(tmp_path / "log-dir")
                expected += values[:stored]
                if chance.random() < 0.5:
                    exchange.produce(set_of([(None, b"plain")] * 3))
                    expected += [b"plain"] * 3
            assert sent(exchange, *last[number], number=number)[0] is Code.NONE
            expected += values[stored:] if act < 0.1 else values
        elif act < 0.8:
            assert sent(exchange, *last[number], number=number)[0] is Code.NONE
        elif act < 0.9:
            exchange.produce(set_of([(None, b"plain")]))
            expected.append(b"plain")
        else:
            exchange.__exit__() if act < 0.95 else exchange.kill()
            exchange = Exchange(tmp_path / "log-dir")
    assert exchange.values() == expected
    exchange.__exit__()


def test_older_epoch_is_an_error_of_its_own(path):
    known = IdempotentProducers(path, "t", 0)
    known.learn(entry(7, 0, 1, 0, epoch=2))
    with pytest.raises(RefusedError) as caught:
        known.stored(Sequence(7, 1, 0), 1)
    assert caught.value.code is Code.INVALID_PRODUCER_EPOCH
    known.close()
