import pytest

from kminilog.clock import ManualClock
from kminilog.cluster.metadata import Node
from kminilog.cluster.requests import Cluster, Produced
from kminilog.cluster.standalone import StandaloneBroker
from kminilog.errors import CorruptBytesError, UnknownTopicOrPartitionError
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from tests.support.cluster.clusters import ORDERS, request


@pytest.fixture
def writer(tmp_path):
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 2))
        writer.create_topic(Topic("bills"))
        yield writer


@pytest.fixture
def broker(writer):
    return StandaloneBroker(writer, ManualClock(1_000))


def test_metadata_names_one_node_that_leads_everything(broker):
    cluster: Cluster = broker
    metadata = cluster.metadata()
    assert metadata is cluster.metadata()
    assert metadata.nodes == (Node(0),)
    assert metadata.topics == ("bills", "orders")
    for info in metadata.partitions_for_topic("orders"):
        assert (info.leader, info.replicas, info.in_sync_replicas) == (
            Node(0),
            (Node(0),),
            (Node(0),),
        )


@pytest.mark.parametrize("acks", [1, -1])
def test_produce_appends_and_is_replicated_at_once(writer, broker, acks):
    assert broker.produce(ORDERS, request(b"a", b"b"), acks=acks) == Produced(0, 2, 0, 0)
    produced = broker.produce(ORDERS, request(b"c"), acks=acks)
    assert produced == Produced(2, 3, 0, 0)
    assert broker.is_replicated(ORDERS, produced)
    assert [m.value for m in writer.log(ORDERS).reader.read(0, 999)] == [b"a", b"b", b"c"]


def test_produce_acks_0_tells_the_producer_neither_offsets_nor_errors(writer):
    unheard = []
    broker = StandaloneBroker(writer, ManualClock(1_000), on_unheard=unheard.append)
    assert broker.produce(ORDERS, request(b"a"), acks=0) == Produced(-1, -1, 0, 0)
    assert unheard == []
    assert broker.produce(ORDERS, b"?", acks=0) == Produced(-1, -1, 0, 0)
    assert [type(error) for error in unheard] == [CorruptBytesError]
    assert writer.log(ORDERS).log_end_offset == 1


def test_produce_that_cannot_be_is_an_error(writer, broker):
    with pytest.raises(CorruptBytesError):
        broker.produce(ORDERS, request(b"a", b"b")[:-1], acks=1)
    assert writer.log(ORDERS).log_end_offset == 0
    with pytest.raises(UnknownTopicOrPartitionError):
        broker.produce(TopicPartition("orders", 2), request(b"a"), acks=1)
    with pytest.raises(ValueError, match="acks"):
        broker.produce(ORDERS, request(b"a"), acks=3)
