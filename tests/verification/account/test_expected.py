"""Where records belong if no job has read just this source: by the rule of all jobs."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kminilog.columns.partitioning import Places
from kminilog.jobs.source.description import Source
from kminilog.partitioners.keyed_rules import KEYED_RULES
from kminilog.storage.manifests import Manifest
from kminilog.storage.topics import Topic
from kminilog.verification.account.expected import ExpectedPartition
from kminilog.verification.account.rows import UNKNOWN
from kminilog.verification.summaries import KeyedPartition

KEYS = [b"alice", None, b"", b"\xff\x00", *(b"user %d" % n for n in range(500))]
PARTITIONS = 7


def expected(tmp_path: Path, partitioner: str) -> ExpectedPartition:
    """Two jobs have read other files than this one."""
    facts: dict[str, Any] = {"partitioner": partitioner, "partitions": PARTITIONS}
    jobs = [
        Manifest(name, "t", [], {**facts, "source": {"paths": [f"/{name}"]}}) for name in ("a", "b")
    ]
    source = Source((str(tmp_path / "moved"),))
    topic = Topic("t", partitions=PARTITIONS)
    return ExpectedPartition.of(topic, None, source, jobs, is_within=False)


@pytest.mark.parametrize("partitioner", KEYED_RULES)
def test_expected_partition_by_a_rule_is_that_of_each_key_and_unknown_without_one(
    tmp_path, partitioner
):
    found = expected(tmp_path, partitioner)
    assert (found.knows_keyed, found.knows_keyless) == (True, False)
    places = Places(*np.zeros((3, len(KEYS)), np.int64))
    rule = KEYED_RULES[partitioner]
    plain = [UNKNOWN if key is None else rule(key, PARTITIONS) for key in KEYS]
    assert found.chooser()(pa.array(KEYS, pa.binary()), places).tolist() == plain


def test_expected_partition_by_murmur2_asks_for_no_key_by_itself(tmp_path, monkeypatch):
    def refuse(self: KeyedPartition, key: bytes) -> int:
        raise AssertionError(key)

    monkeypatch.setattr(KeyedPartition, "__call__", refuse)
    places = Places(*np.zeros((3, len(KEYS)), np.int64))
    choose = expected(tmp_path, "default-2.4").chooser()
    assert len(choose(pa.array(KEYS, pa.binary()), places)) == len(KEYS)
