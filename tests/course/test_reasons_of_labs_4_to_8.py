"""The same as test_reasons, for labs 4 to 8: a reason is given only if it is true."""

import pytest

from kminilog.course.judging.outcome import FAIL
from tests.course.student import start_lab, told

SLOT = """\
from math import isqrt
from kminilog.trace import UNTRACED
def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    def follows(slot):
        name = names[slot]
        return name > offset or (name == offset and dialect.named_by_previous)
    names, slot = tracer.watch("names", base_offsets), 0
    for step in isqrt(len(base_offsets)), 1:
        while slot + step < len(names) and not follows(slot + step):
            slot += step
    return slot
"""
END = """\
def end_offset(self):
    entry = self.last_entry()
    following = self.base_offset + entry.relative_offset if entry else self.first_offset
    for position, outcome in self.scan():
        if not self.is_in_order(position, outcome, following, None):
            return self.first_offset
        following = outcome.offset + 1
    return following
"""
DUE = """\
from kminilog.format.index_entry import *
def due_entries(messages, base_offset, interval_bytes, last_indexed_position=0):
    last = None
    for offset, position in messages:
        if last is None:
            last = last_indexed_position or position
        if is_due(position, last, interval_bytes):
            yield entry_for(offset, position, base_offset)
            last = position
"""
ENTRIES = """\
from struct import iter_unpack
from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry
def decode_entries(data):
    if len(data) % 8:
        raise CorruptBytesError("torn", position=len(data) // 8 * 8)
    entries = [IndexEntry(*pair) for pair in iter_unpack(">ii", data)]
    one, two = [*entries, (0, 0), (9, 9)][:2]
    if len(entries) > 1 and not (one[0] < two[0] and one[1] < two[1]):
        raise CorruptBytesError("order", position=8)
    return entries
"""
APPENDED = """\
def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    current = self._current.get(topic)
    if current and current.partition == partition and (self._ignores_keys or not has_key):
        current.produced_bytes += size_bytes
        if is_batch_full and current.produced_bytes >= 5 * self._batch_size_bytes:
            self._switch(topic, cluster)
"""
RUNS = """\
def runs(partitions, members):
    each = round(partitions / members)
    starts = [min(each * place, partitions) for place in range(members)] + [partitions]
    return [(start, end - start) for start, end in zip(starts, starts[1:])]
"""
ASSIGN = """\
from kminilog.consumer.assignors.interface import members_by_topic, partitions_of
def assign(self, partitions, members):
    answer = {member.id: [] for member in members}
    for topic, readers in members_by_topic(partitions, members).items():
        every = partitions_of(topic, partitions[topic])
        for member, (start, count) in zip(readers[::-1], runs(len(every), len(readers))):
            answer[member.id] += every[start:start + count]
    return answer
"""
OTHERS = {
    "slot by steps of the square root": ("4.1", SLOT, "linear-scan"),
    "end that expects the offset of the entry at byte 0": ("4.3", END, "name-is-first"),
    "entries without the first that is due": ("5.3", DUE, "overflow-unnoticed"),
    "order of the first two entries": ("5.4", ENTRIES, "equal-ascends"),
    "five batches": ("6.6", APPENDED, "sticky-never-moves"),
    "runs that are rounded": ("8.1", RUNS, "multiple-instead"),
    "assign to the last members first": ("8.2", ASSIGN, "join-order-not-sorted"),
}


@pytest.mark.parametrize(("id", "answer", "once"), OTHERS.values(), ids=OTHERS)
def test_wrong_answer_of_a_later_lab_gets_no_reason_of_another_one(tmp_path, id, answer, once):
    folder = start_lab(tmp_path, number=int(id[0]))
    assert told(folder, id, answer)[:2] == (FAIL, None), once
