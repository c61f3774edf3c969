"""Files that were written under other settings than today's are sound: nobody has damaged them."""

from pathlib import Path

import pytest

from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from kminilog.verification.fast_segment_checks import check_segment as check_quickly
from kminilog.verification.report import verify_storage

T_0 = TopicPartition("t", 0)
BEFORE = TopicSettings(segment_bytes=4000, index_interval_bytes=600)

pytestmark = pytest.mark.usefixtures("without_fsync")


def faults(path: Path) -> list[str]:
    """What the plain check finds, which must be what the fast one finds."""
    report = verify_storage(LogDir(path))
    fast = verify_storage(LogDir(path), check_segment=check_quickly)
    assert fast.to_json() == report.to_json()
    return [finding.kind.value for finding in report.tally.findings()]


def write(path: Path, count: int, *settings: TopicSettings, dialect: Dialect | None = None) -> None:
    """Alter the topic again and again, if it is there, and append to it each time."""
    with LogDirWriter.open(path, create=True) as writer:
        if dialect:
            writer.create_topic(Topic("t", 1, dialect, settings[0]))
        for one in settings:
            writer.alter_topic("t", settings=one)
            writer.log(T_0).append((b"k", b"value %03d" % number) for number in range(count))


@pytest.mark.parametrize("segment_bytes", [500, 4000])
@pytest.mark.parametrize(
    "intervals", [[60], [1000, 60], [60, 1000, 100], [60, 600, 60], [1000, 200, 60]]
)
def test_index_that_was_written_with_a_larger_interval_is_sound(
    tmp_path, dialect, intervals, segment_bytes
):
    """Small segments have no entry at all then."""
    altered = [
        TopicSettings(segment_bytes=segment_bytes, index_interval_bytes=interval)
        for interval in (600, *intervals)
    ]
    write(tmp_path, 130, *altered, dialect=dialect)
    assert faults(tmp_path) == []
    widest = max(600, *intervals)
    assert LogDir(tmp_path).topic("t").widest_index_interval == widest
    assert LogDir(tmp_path).reader(T_0).segments()[0].index_interval_bytes == intervals[-1]


def test_index_that_lacks_entries_of_the_larger_interval_too_is_sparse(tmp_path):
    write(tmp_path, 300, BEFORE, TopicSettings(4000, index_interval_bytes=60), dialect=DOCUMENTED)
    first, second, *_ = sorted((tmp_path / "t-0").glob("*.index"))
    for index in (first, second):
        sound = index.read_bytes()
        index.write_bytes(b"")
        assert faults(tmp_path) == ["index-sparse"]
        index.write_bytes(sound)
    first.write_bytes(first.read_bytes()[:8] + first.read_bytes()[16:])
    assert faults(tmp_path) == ["index-sparse"]


def test_interval_that_grows_again_is_all_that_counts(tmp_path, dialect):
    write(tmp_path, 10, BEFORE, TopicSettings(index_interval_bytes=60), dialect=dialect)
    write(tmp_path, 10, TopicSettings(index_interval_bytes=600))
    assert "widest_index_interval" not in (tmp_path / "t.json").read_text()


@pytest.mark.parametrize(
    "after",
    [
        TopicSettings(segment_bytes=200, index_interval_bytes=600),
        TopicSettings(segment_bytes=4000, index_interval_bytes=600, segment_index_bytes=8),
        TopicSettings(segment_bytes=4000, index_interval_bytes=600, max_message_bytes=30),
        TopicSettings(segment_bytes=4000, index_interval_bytes=600, retention_bytes=900),
        TopicSettings(segment_bytes=10**6, index_interval_bytes=10**6),
    ],
)
def test_files_above_todays_limits_are_sound_read_and_appended_to(tmp_path, dialect, after):
    write(tmp_path, 300, BEFORE, dialect=dialect)
    with LogDirWriter.open(tmp_path) as writer:
        writer.alter_topic("t", settings=after)
        assert writer.log(T_0).append([(None, b"v")]) == range(300, 301)
    assert faults(tmp_path) == []
    read = LogDir(tmp_path).reader(T_0).read(0, 10**6)
    assert [message.offset for message in read][:100] == [*range(100)]
    (tmp_path / ".clean-shutdown").unlink()
    with LogDirWriter.open(tmp_path) as writer:
        assert writer.log(T_0).log_end_offset == 301
        assert not [line for line in writer.warnings if "rebuilt" not in line]
    assert faults(tmp_path) == []
