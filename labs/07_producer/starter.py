"""Lab 7, the producer: your answers. README.md says what to do."""

from collections.abc import Collection

from kminilog.cluster.leadership import Leadership
from kminilog.producer.batch import Batch
from kminilog.producer.buffer_pool import BufferPool, Waiter
from kminilog.producer.record import ProducerRecord


# 7.1  The ledger: free, available, in use
def take_bytes(self, size_bytes: int) -> None:
    """Take bytes of the available memory, with the lock held.

    If it is not enough, buffers of the free list are given up first, as few as needed. The
    caller has seen that both together are enough. O(buffers given up).
    """
    raise NotImplementedError


# 7.2  One poolable size
def deallocate(self, buffer: bytearray, size_bytes: int | None = None) -> None:
    """Take a buffer back, and wake the first waiting call; a closed pool takes buffers too.

    `size_bytes` is the size that was allocated; the default is the size of `buffer` now. If the
    two differ, the buffer has grown or was replaced, and is not reused.

    Raises ValueError for a buffer that was given back already, and for a size of which no
    buffer is lent out.
    """
    raise NotImplementedError


# 7.3  First come, first served
def wait_in_queue(self, size_bytes: int, max_time_to_block_ms: int) -> bytearray | None:
    """Wait for memory after all who wait already, with the lock held.

    Returns a buffer of the free list, or None if the bytes for a new one are taken. A call that
    fails, for whatever reason, gives back what it had collected. Who leaves wakes the first.
    """
    raise NotImplementedError


# 7.4  Until the time is over
def wait_until_served(self, waiter: Waiter, max_time_to_block_ms: int) -> None:
    """Wait until a call of the queue has what it needs, with the lock held.

    Only the first of the queue collects. The time is the budget for all the waiting together.
    Raises BufferExhaustedError when it is over, and ClientClosedError if the pool is closed.
    """
    raise NotImplementedError


# 7.5  A buffer in flight
def release(batch: Batch, pool: BufferPool) -> None:
    """Mark a batch as done; its buffer goes back to the pool unless the batch is in flight."""
    raise NotImplementedError


# 7.6  The chain
def on_send(self, record: ProducerRecord) -> ProducerRecord:
    """Return the record as the chain has changed it; the record itself if all of them fail."""
    raise NotImplementedError


# 7.7  Once more?
def may_retry(attempts: int, retries: int, error: Exception) -> bool:
    """Tell if a batch that has failed `attempts` times is sent again.

    It is, `retries` times at most, if its last error is one that may go away by itself.

    >>> may_retry(1, 3, RequestTimedOutError("orders", partition=0, waited_ms=5))
    True
    >>> may_retry(1, 3, ValueError("broken"))
    False
    """
    raise NotImplementedError


# 7.8  Whom may the controller elect?
def settle(leadership: Leadership, running: Collection[int]) -> Leadership:
    """Return the leadership when exactly these brokers run.

    Those that are down leave the in-sync replicas, unless all would. A leader that runs stays; else
    the next in-sync replica in replica order leads, in the next epoch; none, if none runs.
    `in_sync` is a tuple, in its order of before.

    >>> first = Leadership.of_new_partition((0, 1, 2))
    >>> second = settle(first, running={1, 2})
    >>> second
    Leadership(replicas=(0, 1, 2), leader=1, leader_epoch=1, in_sync=(1, 2))
    >>> last = settle(settle(second, running={2}), running=())
    >>> last
    Leadership(replicas=(0, 1, 2), leader=None, leader_epoch=2, in_sync=(2,))
    >>> settle(last, running={0, 1}).leader is None  # they may lack messages
    True
    >>> settle(last, running={0, 1, 2}).leader
    2
    """
    raise NotImplementedError


# 7.9  Two brokers after a crash
FIRST_MOVED = ...
MOVED = ...
LOST = ...


# 7.12  Inputs that expose a wrong election
EXPOSE_LEADER = ...
