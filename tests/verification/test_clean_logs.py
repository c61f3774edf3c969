"""Whatever the engine writes, with whatever settings: verification is silent about it."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.format.dialect import DIALECTS, Dialect
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.retention import delete_expired
from tests.support.properties.strategies import key_values, settings_that_hold
from tests.support.verification.logs import ORDERS, check


@st.composite
def plans(draw: st.DrawFn):
    """A dialect, settings, a first offset, batches, and what happens after each batch."""
    dialect = draw(st.sampled_from(list(DIALECTS.values())))
    batches = draw(st.lists(st.lists(key_values(dialect), max_size=12), max_size=6))
    settings = draw(settings_that_hold(dialect, [pair for batch in batches for pair in batch]))
    between = st.sampled_from(["nothing", "roll", "reopen", "retain"])
    steps = [(batch, draw(between)) for batch in batches]
    return dialect, settings, draw(st.sampled_from([0, 1, 2, 1000, 2**40])), steps


@given(plan=plans())
def test_log_that_the_engine_wrote_has_no_findings(plan):
    dialect, settings, base_offset, steps = plan
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as directory:
        patch.setattr(os, "fsync", lambda descriptor: None)
        log = open_log(Path(directory), dialect, settings, base_offset)
        for batch, then in steps:
            log.append(batch)
            if then == "roll":
                log.roll()
            elif then == "reopen":
                log.close()
                log = open_log(Path(directory), dialect, settings, base_offset)
            elif then == "retain" and log.segments()[0].file_bytes:
                delete_expired(log, now_ms=2**45)
        summary = check(Path(directory), dialect, settings=settings)
        assert (summary.findings, summary.unchecked) == ([], [])
        assert summary.log_start_offset == log.log_start_offset
        assert summary.log_end_offset == log.log_end_offset
        assert summary.message_count == log.log_end_offset - log.log_start_offset
        log.close()


def open_log(
    directory: Path, dialect: Dialect, settings: TopicSettings, base_offset: int
) -> PartitionLog:
    return PartitionLog.open(directory, ORDERS, dialect, settings, base_offset=base_offset)
