"""Nothing acknowledged is lost when a broker crashes and returns; see under_fire.py.

The same with a million messages is in the benchmarks.
"""

import pytest

from kminilog.format.dialect import DIALECTS
from tests.support.producer.under_fire import send_under_fire

MESSAGES = 50_000


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_crash_and_return_of_a_broker_loses_nothing_and_keeps_the_order(tmp_path, dialect):
    outcome = send_under_fire(tmp_path, MESSAGES, dialect)
    assert outcome.report.acknowledged == MESSAGES
    assert outcome.report.lost == 0
    assert outcome.lost == set()
    assert outcome.out_of_order == 0
    assert outcome.repeated.keys() <= outcome.sent_again.keys(), "only batches that were sent again"
    assert all(outcome.repeated[n] <= outcome.sent_again[n] for n in outcome.repeated)
    assert 0 < outcome.repeated.total() <= outcome.report.in_doubt
    assert outcome.differing == []
