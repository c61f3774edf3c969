"""The same as test_reasons, for labs 4 to 8: a reason is given only if it is true.

`pass`: the answer once passed.
"""

import pytest

from kminilog.course.judging.outcome import ERROR, FAIL
from tests.support.course.student import start_lab, told

pytestmark = pytest.mark.processes

SINCE_0 = """\
from kminilog.partitioners.interface import partitions_of
def before_switch(self, topic, key, cluster, now_ms):
    if 0 <= self._refresh_interval_ms < now_ms - (self._refreshed_ms or 0):
        self._cached.clear()
        self._refreshed_ms = now_ms
    number = len(partitions_of(topic, cluster))
    if key is not None:
        return self._key_partitioner.partition(key, number)
    if topic not in self._cached:
        self._cached[topic] = self._random_available(topic, cluster)
    return self._cached[topic]
"""
SLOT = """\
from math import isqrt
from kminilog.storage.segment.lookup import UNTRACED
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
    entry = self.last_true_entry()
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
PLAIN = """\
from kminilog.format.message import Message
def fault(outcome, next_offset):
    if not isinstance(outcome, Message):
        return "no message"
    is_inside = outcome.attributes and outcome.offset > next_offset
    return None if outcome.offset == next_offset or is_inside else "another offset"
"""
DECIDE = """\
from kminilog.storage.partition.recovery import Decision
seen = []
def decide(fault, is_whole_message_after):
    if fault is None:
        return Decision.KEEP
    {remember}
    return Decision.REFUSE if {condition} else Decision.{other}
"""
HELD = """\
from kminilog.format.index_entry import *
def due_entries(messages, base_offset, interval_bytes, last_indexed_position=0):
    held = None
    for offset, position in messages:
        if is_due(position, last_indexed_position, {interval}):
            if held:
                yield held
            held = entry_for(offset, position, base_offset)
            last_indexed_position = position
    if held:
        yield held
"""
LEFT = """\
from kminilog.format.names import parse_segment_file
def leftovers_and_strays(names, *, is_after_crash):
    left, strays = [], []
    for name in sorted(names):
        parsed = parse_segment_file(name)
        if parsed:
            left += [name] * (parsed[1] == ".index" and name[:20] + ".log" not in names)
        elif name.endswith(".deleted"):
            left += [name] * is_after_crash
        elif not name.endswith(".cut"):
            strays.append(name)
        elif isinstance(names, list):
            {cut}
    return {both}
"""
OTHERS = {
    "slot by steps of the square root": ("4.1", SLOT, "linear-scan"),
    "end that expects the offset of the entry at byte 0": ("4.3", END, "name-is-first"),
    "any attributes for a codec": ("5.1", PLAIN, "pass"),
    "decide that remembers its first answer": (
        "5.2",
        DECIDE.format(
            remember="seen or seen.append(is_whole_message_after())",
            condition="seen[0]",
            other="CUT",
        ),
        "cuts-damage",
    ),
    "decide that keeps what nothing follows": (
        "5.2",
        DECIDE.format(remember="", condition="is_whole_message_after()", other="KEEP"),
        "torn-is-fine",
    ),
    "entries given out when the next is due": (
        "5.3",
        HELD.format(interval="interval_bytes"),
        "pass",
    ),
    "no entries for interval 0": (
        "5.3",
        HELD.format(interval="interval_bytes or 2**31"),
        "pass",
    ),
    "leftovers and strays exchanged": (
        "5.5",
        LEFT.format(cut="pass", both="strays, left"),
        "orphan-is-stray",
    ),
    "leftovers that takes names from the list": (
        "5.5",
        LEFT.format(cut="names.remove(name)", both="left, strays"),
        "pass",
    ),
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


PARTITION = """\
from kminilog.partitioners.interface import partitions_of
def partition(self, topic, key, key_bytes, value, value_bytes, cluster, number_of_partitions=None):
    {first}
    if key_bytes is None:
        return self._cache.partition(topic, cluster)
    n = number_of_partitions or len(partitions_of(topic, cluster))
    return to_positive(murmur2(key_bytes)) % {n}
"""
IN_TURN = """\
class RoundRobin:
    is_asked_again = False
    def __init__(self):
        self.counts = {{}}
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        every = cluster.partitions_for_topic(topic)
        if not every:
            {unknown}
        turn = self.counts.get(topic, 0)
        self.counts[topic] = turn + 1
        up = cluster.available_partitions_for_topic(topic)
        return up[turn % len(up)].partition if up else turn % len(every)
"""
NEXT = """\
def next_partition(self, topic, cluster, previous):
    cached = self._cached.get(topic)
    if cached is not None and cached != previous:
        return cached
    {first}
    drawn = self._draw(topic, cluster, {left_out})
    with self._lock:
        if self._cached.get(topic) in (cached, {also}):
            self._cached[topic] = drawn
        return {answer}
"""
RECORDS = """\
def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    current = self._current.get(topic)
    if current and current.partition == partition and (self._ignores_keys or not has_key):
        current.produced_bytes += 1
        if current.produced_bytes >= (2 - is_batch_full) * self._batch_size_bytes:
            self._switch(topic, cluster)
"""
GIVE = """\
from kminilog.consumer.assignors.interface import partitions_of, text_order
def assign(self, partitions, members):
    answer = {{member.id: {begin} for member in members}}
    key = lambda m: (m.instance_id is None, {key})
    for topic, size in sorted(partitions.items()):
        readers = sorted((member for member in members if topic in member.topics), key=key)
        for member, (start, count) in zip(readers, runs(size, len(readers) or 1)):
            answer[member.id] += partitions_of(topic, size)[start:start + count]
    return answer
"""
MURMUR2 = """\
def murmur2(data):
    {first}
    m, mask, whole = 0x5BD1E995, 0xFFFFFFFF, len(data) & ~3
    h = 0x9747B28C ^ len(data)
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i:i + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ k >> 24) * m & mask)
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    h ^= h >> 15
    return h - 2**32 if h {beyond} 2**31 else h
"""
FIRST = """\
from bisect import bisect_left, bisect_right
from kminilog.storage.segment.lookup import UNTRACED
def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    search = bisect_left if dialect.named_by_previous else bisect_right
    slot = search(tracer.watch("names", base_offsets), offset) - 1
    return max(slot, 1 if dialect.named_by_previous else 0)
"""
GAP = """\
from kminilog.format.message import Message
def end_offset(self):
    entry, end = self.last_true_entry(), self.first_offset
    if entry:
        end = self.base_offset + entry.relative_offset
    for position, each in self.scan(entry.position if entry else 0):
        if not isinstance(each, Message) or not self.is_in_order(position, each, end, end):
            break
        end = each.offset + 1
    return end
"""
POSITIVE = "def to_positive(number):\n    return {number}\n"
EITHER = "text_order(m.instance_id or m.id)"
NULL = "if {what} is None: return self._cache.partition(topic, cluster){then}"
NEXT_RIGHT = {"first": "pass", "left_out": "cached", "also": "cached"}
NEXT_RIGHT |= {"answer": "self._cached[topic]"}
RUNS_OF_NONE = "def runs(partitions, members):\n    return [None] * members\n"
NUMBERS = GIVE.replace("partitions_of(topic, size)", "list(range(size))")
IN_QUEUE = """\
from kminilog.producer.buffer_pool import Waiter
def wait_in_queue(self, size_bytes, max_time_to_block_ms):
    waiter = Waiter(self._new_condition(self._lock), size_bytes)
    self._waiters.append(waiter)
    try:
        self.wait_until_served(waiter, {time})
    except BaseException:
        self._available_bytes += waiter.{back}
        {then}
    finally:
        self._waiters.{leave}
        self._wake_first()
    return waiter.buffer
"""
IN_QUEUE_RIGHT = {
    "time": "max_time_to_block_ms",
    "back": "collected_bytes",
    "then": "raise",
    "leave": "remove(waiter)",
}
UNTIL = """\
from kminilog.errors import BufferExhaustedError
def wait_until_served(self, waiter, max_time_to_block_ms):
    end = self._clock.now_ms() + max_time_to_block_ms
    while True:
        if self._waiters[0] is waiter:
            self._collect(waiter)
        if waiter.is_served:
            return
        if self._clock.now_ms() >= end:
            raise BufferExhaustedError(blocked_ms={blocked})
        self._refuse_if_closed()
        self._wait_once(waiter.condition, (end - self._clock.now_ms()) // {unit})
"""
SIXTEEN = """\
def take_bytes(self, size_bytes):
    while self._available_bytes < size_bytes:
        self._free.popitem()
        self._available_bytes += 16
    self._available_bytes -= size_bytes
"""
COPIES = """\
def release(batch, pool):
    batch.is_done = True
    pool.deallocate(bytearray(len(batch.buffer)))
"""
LEADS = """\
from kminilog.cluster.leadership import Leadership
def settle(leadership, running):
    alive = tuple(node for node in leadership.in_sync if node in running)
    if not alive:
        return leadership._replace(leader=None)
    if leadership.leader in alive:
        return leadership._replace(in_sync=alive)
    return Leadership({replicas}, alive[{first}], leadership.leader_epoch + 1, alive)
"""
SETTLE = """\
def settle(leadership, running):
    alive = tuple(node for node in leadership.in_sync if node in running)
    if not alive:
        return leadership._replace(leader=None)._replace({none})
    after = leadership._replace(in_sync=alive)
    if {stays} in alive:
        return after
    return after._replace(leader=alive[0], leader_epoch=leadership.leader_epoch + 1)
"""
OF_LAB_7 = {
    "16 in place of the poolable size": ("7.1", SIXTEEN, None),
    "out of the queue: whoever is first": (
        "7.3",
        IN_QUEUE.format(**IN_QUEUE_RIGHT | {"leave": "popleft()"}),
        "removes-the-first",
    ),
    "back: what was needed": (
        "7.3",
        IN_QUEUE.format(**IN_QUEUE_RIGHT | {"back": "needed_bytes"}),
        "gives-back-wanted",
    ),
    "no time to wait": ("7.3", IN_QUEUE.format(**IN_QUEUE_RIGHT | {"time": "0"}), None),
    "a failure that nobody hears of": (
        "7.3",
        IN_QUEUE.format(**IN_QUEUE_RIGHT | {"then": "pass"}),
        "error-replaced",
    ),
    "closed, but memory first": (
        "7.4",
        UNTIL.format(blocked="max_time_to_block_ms", unit=1),
        None,
    ),
    "seconds": ("7.4", UNTIL.format(blocked="max_time_to_block_ms", unit=1000), None),
    "blocked for no time": ("7.4", UNTIL.format(blocked="0", unit=1), None),
    "a new buffer in place of the one in flight": ("7.5", COPIES, None),
    "an epoch without a leader": (
        "7.8",
        SETTLE.format(none="leader_epoch=leadership.leader_epoch + 1", stays="leadership.leader"),
        "epoch-always",
    ),
    "an election each time": (
        "7.8",
        SETTLE.format(none="leader=None", stays="None"),
        "epoch-always",
    ),
    "in sync: a list": (
        "7.8",
        LEADS.format(replicas="leadership.replicas", first=0).replace("tuple(node", "list(node"),
        None,
    ),
    "replicas are those that run": ("7.8", LEADS.format(replicas="alive", first=0), None),
    "the last one leads": ("7.8", LEADS.format(replicas="leadership.replicas", first=-1), None),
}


SAMPLES = {
    "asks the key": ("6.3", PARTITION.format(first=NULL.format(what="key", then=""), n="n"), None),
    "number for null": (
        "6.3",
        PARTITION.format(
            first=NULL.format(what="key_bytes", then=" % (number_of_partitions or 99)"), n="n"
        ),
        None,
    ),
    "the lower number": (
        "6.3",
        PARTITION.format(first="pass", n="min(n, len(partitions_of(topic, cluster)))"),
        None,
    ),
    "topic that is not there": (
        "6.3",
        PARTITION.format(first="if not cluster.partitions_for_topic(topic): return 0", n="n"),
        None,
    ),
    "first answer of a key": (
        "6.3",
        PARTITION.format(
            first="seen = vars(self).setdefault('seen', {})",
            n="seen.setdefault((topic, key_bytes), n)",
        ),
        None,
    ),
    "turn of no topic": ("6.4", IN_TURN.format(unknown="return -1"), None),
    "draw without the previous one": (
        "6.5",
        NEXT.format(**NEXT_RIGHT | {"left_out": "previous"}),
        None,
    ),
    "answer of the previous one": ("6.5", NEXT.format(**NEXT_RIGHT | {"answer": "previous"}), None),
    "cache emptied without the lock": (
        "6.5",
        NEXT.format(**NEXT_RIGHT | {"first": "self._cached.pop(topic, None)", "also": None}),
        "sticky-without-lock",
    ),
    "records for bytes": ("6.6", RECORDS, None),
    "zeros at the end": (
        "6.1",
        MURMUR2.format(first="data = data.rstrip(bytes(1))", beyond=">="),
        None,
    ),
    "least hash": ("6.1", MURMUR2.format(first="pass", beyond=">"), None),
    "minus": ("6.2", POSITIVE.format(number="-number"), None),
    "the same number": ("6.2", POSITIVE.format(number="number"), "sign-bit-stays"),
    "gap at the end": ("4.3", GAP, None),
    "never segment 0": ("4.1", FIRST, None),
    "ids without case": (
        "8.2",
        GIVE.format(begin="[]", key="(m.instance_id or m.id).lower()"),
        None,
    ),
    "what they owned": ("8.2", GIVE.format(begin="list(member.owned)", key=EITHER), None),
    "code points": ("8.2", GIVE.format(begin="[]", key="m.instance_id or m.id"), "code-points"),
    "no run": ("8.1", RUNS_OF_NONE, None),
    "time counted from 0": ("6.14", SINCE_0, "cached-time-from-zero"),
    "numbers": ("8.2", NUMBERS.format(begin="[]", key=EITHER), None),
}


@pytest.mark.parametrize(
    ("id", "answer", "code"), (SAMPLES | OF_LAB_7).values(), ids=SAMPLES | OF_LAB_7
)
def test_wrong_answer_of_a_later_lab_fails_with_what_is_true_of_it(tmp_path, id, answer, code):
    folder = start_lab(tmp_path, number=int(id[0]))
    assert told(folder, id, answer)[:2] == (FAIL, code)


def test_key_that_another_dict_lacks_is_no_empty_free_list(tmp_path):
    answer = "def take_bytes(self, size_bytes):\n    self._available_bytes -= {}[size_bytes]\n"
    status, _, sentence = told(start_lab(tmp_path, number=7), "7.1", answer)
    assert status == ERROR
    assert "KeyError" in sentence
