from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.storage.segment import Segment


def test_added_messages_are_in_no_file_before_write_and_then_no_longer_added(tmp_path):
    segment = Segment(tmp_path, 5, KAFKA, 30)
    segment.open()
    encoded = [encode(KAFKA, offset, None, b"value") for offset in (5, 6, 7)]
    for offset, data in enumerate(encoded, start=5):
        segment.add(offset, data)
    assert segment.added == encoded
    assert segment.file_bytes == 0
    segment.write()
    assert segment.added == []
    assert segment.log_path.read_bytes() == b"".join(encoded)
    segment.index.check()
    assert segment.index.entries() == [(1, 31), (2, 62)]


def test_added_messages_are_dropped_by_a_truncation(tmp_path):
    segment = Segment(tmp_path, 0, KAFKA, 4096)
    segment.open()
    segment.add(0, encode(KAFKA, 0, None, b"value"))
    segment.truncate_to(0, 0)
    segment.write()
    assert segment.added == []
    assert segment.file_bytes == segment.size_bytes == 0
