"""A broker's topic as a source: what is committed, with places, counts and damage."""

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kminilog.broker_files.directory import BrokerDirectory
from kminilog.broker_files.partition import BrokerPartition, CommittedRecords
from kminilog.errors import SourceError
from kminilog.format.names import TopicPartition, segment_name
from kminilog.jobs.source.broker_topics import in_words
from kminilog.jobs.source.columns import columns_of, left_out
from kminilog.jobs.source.description import Place, Source, check_unchanged, files_of, locate
from kminilog.jobs.source.reading_again import records_at
from kminilog.jobs.source.tasks import LocalTasks
from tests.broker_files.golden_files import java
from tests.broker_files.partitions import at, broker_directory, transactions, write_segment
from tests.support.damage import flip_byte
from tests.support.jobs.source.plain import records_of

NOTHING_LEFT_OUT = {
    "partition": "more-0",
    "aborted": 0,
    "control": 0,
    "absent": 0,
    "with_headers": 0,
    "with_timestamps": 0,
    "open_offset": None,
}


@pytest.fixture
def kafka(tmp_path: Path) -> Path:
    return broker_directory(tmp_path / "kafka")


def source_of(path: Path, topic: str = "mixed") -> Source:
    return Source((f"{path}:{topic}",), "kminilog")


def left_out_of(source: Source) -> list[dict[str, Any]]:
    return left_out(columns_of(source, files_of(source)), LocalTasks())


def committed(path: Path) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    partition = BrokerPartition(BrokerDirectory(path), TopicPartition("mixed", 0))
    for _, _, record in CommittedRecords(partition, partition.log_start_offset):
        yield record.offset, record.key, record.value


def test_records_are_those_of_a_read_committed_consumer_across_segments(kafka):
    found = records_of(replace(source_of(kafka), same_places=True))
    read = [(row["told_offset"], row["key"], row["value"]) for row in found]
    assert read == [*committed(kafka)]
    assert {row["source_rank"] for row in found} == {0, 1}
    assert len({(row["source_rank"], row["source_position"]) for row in found}) == len(found) == 29


def test_records_of_many_batches_come_in_order(kafka, monkeypatch):
    expected = records_of(source_of(kafka))
    monkeypatch.setattr("kminilog.jobs.source.topic_columns._BATCH_RECORDS", 3)
    assert records_of(source_of(kafka)) == expected


def test_what_is_no_message_is_counted(kafka):
    (row,) = left_out_of(source_of(kafka))
    assert row == {
        "partition": "mixed-0",
        "aborted": 1,
        "control": 3,
        "absent": 0,
        "with_headers": 5,
        "with_timestamps": 26,
        "open_offset": None,
    }


def test_open_transaction_and_absent_offsets_are_told(kafka):
    data = at(0, java("v2-none")) + at(9, java("v2-none")) + transactions(13, "open")
    write_segment(kafka / "more-0", 0, data)
    (row,) = left_out_of(source_of(kafka, "more"))
    assert (row["absent"], row["open_offset"]) == (5, 13)
    assert [line for line in in_words([row]) if "offset" in line] == [
        "5 offsets without a record: by compaction, or lost",
        "more-0: a transaction is open, so the records from offset 13 on are left out",
    ]
    assert len(records_of(source_of(kafka, "more"))) == 8


def test_without_anything_left_out_nothing_is_said():
    assert [*in_words([NOTHING_LEFT_OUT])] == []
    assert [*in_words([])] == []


def test_record_is_located_by_its_offset_and_read_again(kafka):
    source = source_of(kafka)
    files = files_of(source)
    place = Place(1, 5, 5)
    path = kafka / "mixed-0" / f"{segment_name(16)}.log"
    assert locate(source, files, [place]) == {place: f"{path}, offset 21"}
    (row,) = [one for one in records_of(source) if one["source_rank"] == 1][5:6]
    assert records_at(source, files, [place]) == {place: (row["key"], row["value"])}


def test_pieces_can_be_sent_to_tasks(kafka):
    columns = columns_of(source_of(kafka), files_of(source_of(kafka)))
    sent = pickle.loads(pickle.dumps(columns))
    assert [*sent.read(sent.pieces)] == [*columns.read(columns.pieces)]


def test_damage_is_refused_with_its_place(kafka):
    path = kafka / "mixed-0" / f"{segment_name(16)}.log"
    flip_byte(path, 80, mask=1)
    with pytest.raises(SourceError, match=rf"{path}: byte 0: Record is corrupt.*verify"):
        records_of(source_of(kafka))


@pytest.mark.parametrize("cut", [1, 70])
def test_unfinished_batch_at_the_end_is_refused(kafka, cut):
    path = write_segment(kafka / "more-0", 0, at(0, java("v2-none")) + at(4, java("v2-none")))
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(SourceError, match=rf"{path}: byte \d+: an unfinished batch"):
        records_of(source_of(kafka, "more"))


def test_reserved_zeros_at_the_end_are_no_damage(kafka):
    path = write_segment(kafka / "more-0", 0, at(0, java("v2-none")))
    path.write_bytes(path.read_bytes() + bytes(100))
    assert len(records_of(source_of(kafka, "more"))) == 4


def test_broker_that_begins_a_segment_meanwhile_has_changed_the_source(kafka):
    source = source_of(kafka)
    files = files_of(source)
    columns = columns_of(source, files)
    write_segment(kafka / "mixed-0", 34, at(34, java("v2-none")))
    with pytest.raises(SourceError, match="it was changed while it was read"):
        [*columns.read(columns.pieces)]
    with pytest.raises(SourceError, match="came after the source was listed"):
        check_unchanged(source, files)


def test_topic_that_is_not_there_is_told(kafka):
    with pytest.raises(SourceError, match=r"kafka has no topic nope"):
        files_of(source_of(kafka, "nope"))


def test_two_topics_are_one_source_in_order(kafka):
    both = Source((f"{kafka}:big", f"{kafka}:mixed"), "kminilog")
    ranks = [row["source_rank"] for row in records_of(both)]
    assert ranks == sorted(ranks)
    assert {*ranks} == {0, 1, 2}
    assert [row["partition"] for row in left_out_of(both)] == ["big-3", "mixed-0"]
