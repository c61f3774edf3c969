"""Compaction of a topic whose segments are full, for those who planned to read them before."""

from dataclasses import replace
from pathlib import Path

from kminilog.storage.log_dir.compaction import compact
from kminilog.storage.log_dir.writer import LogDirWriter


def join_segments_of(log_dir: Path, topic: str) -> None:
    """Allow large segments, and join those that are there."""
    with LogDirWriter.open(log_dir) as writer:
        known = writer.topic(topic)
        writer.alter_topic(topic, settings=replace(known.settings, segment_bytes=1 << 20))
        done = compact(writer, writer.topic(topic), "compact-1")
    assert done.joined
    assert done.warnings == []
