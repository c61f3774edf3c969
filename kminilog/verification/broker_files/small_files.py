"""What the small files of a broker say of a partition, and which of them cannot be read.

    leader-epoch-checkpoint            the epoch of each batch; where it begins, how far it goes
    recovery-point-offset-checkpoint   the log goes at least so far: it was on the disk
    replication-offset-checkpoint      and so far: the high watermark, consumers may have read it
    log-start-offset-checkpoint        below it records count as deleted
    cleaner-offset-checkpoint          names the partitions that are compacted, and up to where
    *.snapshot, partition.metadata     only whether a broker can read them

A broker may be at work: a file that vanishes is left out. Source: Kafka: LogManager.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from kminilog.broker_files.checkpoints import (
    LeaderEpoch,
    parse_leader_epochs,
    parse_offsets,
    parse_partition_metadata,
    parse_producer_snapshot,
)
from kminilog.broker_files.directory import PartitionListing
from kminilog.broker_files.untouched import read_untouched
from kminilog.errors import in_words
from kminilog.format.names import TopicPartition
from kminilog.verification.coverage import Unchecked
from kminilog.verification.findings import Aspect

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANED = "cleaner-offset-checkpoint"
EPOCHS = "leader-epoch-checkpoint"
_SNAPSHOT_SUFFIX, _METADATA = ".snapshot", "partition.metadata"


@dataclass
class Checkpoints:
    """The small files of a log directory: offsets by partition, by the name of the file."""

    offsets: dict[str, Mapping[tuple[str, int], int]] = field(default_factory=dict)
    unchecked: list[Unchecked] = field(default_factory=list)

    def of(self, name: str, topic_partition: TopicPartition) -> int | None:
        """Return the offset on record."""
        topic, partition = topic_partition
        return self.offsets.get(name, {}).get((topic, partition))


def read_checkpoints(directory: Path) -> Checkpoints:
    """Return what the small files say; one that cannot be read is `unchecked`. O(partitions)."""
    found = Checkpoints()
    for name in (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS, CLEANED):
        try:
            found.offsets[name] = parse_offsets(read_untouched(directory / name))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            why = f"{directory / name}: {in_words(error)}"
            found.unchecked.append(Unchecked(Aspect.LOG_ENDS, "", why, asked=True))
    return found


def read_leader_epochs(partition: Path) -> list[LeaderEpoch]:
    """Return the leader epochs on record; raises OSError, and ValueError if they do not ascend.

    Two may begin at the same offset: brokers before 2.0 keep a leader that has written nothing.
    """
    rows = parse_leader_epochs(read_untouched(partition / EPOCHS))
    for row, after in pairwise(rows):
        if not (row.epoch < after.epoch and row.start_offset <= after.start_offset):
            raise ValueError(f"{after.epoch} {after.start_offset} does not ascend")
    return rows


def unreadable_files(files: PartitionListing) -> Iterator[str]:
    """Yield which small files of a partition a broker cannot read, and why. O(bytes)."""
    names = [one.name + suffix for one in files.segments for suffix in one.sizes]
    for name in [*names, *(one.name for one in files.others)]:
        try:
            if name.endswith(_SNAPSHOT_SUFFIX):
                parse_producer_snapshot(read_untouched(files.directory / name))
            elif name == _METADATA:
                parse_partition_metadata(read_untouched(files.directory / name))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            yield f"{name}: {in_words(error)}"
