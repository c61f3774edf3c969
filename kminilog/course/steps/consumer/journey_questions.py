"""The questions of `step journey`, and the thoughts that lead to the usual wrong answers.

    broker-chooses    offset-from-the-client    dense-index    commit-of-the-last-read

Each is computed from the line's own journey; where too many answers are the same, there is none.
Source: ours.
"""

from kminilog.course.steps.document import Ask
from kminilog.course.steps.recording import ask, question_with_enough_choices
from kminilog.format.index_entry import IndexEntry


def who_chooses(*, has_key: bool) -> Ask:
    """Ask who chooses the partition, and by what."""
    by_key = "the producer, by a hash of the key"
    sticky = "the producer: the partition whose batch is open"
    wrong = {
        "the broker, by how full its partitions are": "Brokers do not route. A producer knows the "
        "partitions and their leaders, and sends straight to the right one.",
        "the producer, each partition in turn": "That is round robin. It would scatter the "
        "messages of one key, and make many small batches.",
        by_key: "There is no key to hash.",
        sticky: "That is for messages without a key. Those with a key must stay together.",
    }
    right, why = by_key, "So all messages with this key are in one partition, and in order."
    if not has_key:
        right, why = sticky, "So batches get full. The next one goes to another partition."
    return ask("Who chooses the partition, and by what?", right, why, wrong)


def what_the_batch_says(slot: int, offset: int) -> Ask | None:
    """Ask which offset a message has in its batch."""
    return question_with_enough_choices(
        ask(
            "Which offset stands in the message, as long as it is in the batch?",
            str(slot),
            "It only counts inside the batch. The leader of the partition gives out the real one.",
            {
                "0": "That is the first message of the batch. Another one came before.",
                str(offset): "Only the leader knows which offset comes next. Other producers may "
                "write to this partition, too.",
                str(slot + 1): "Offsets count from 0.",
            },
        )
    )


def where_reading_begins(entry: IndexEntry | None, position: int) -> Ask | None:
    """Ask at which byte the walk to a message begins that stands at `position`."""
    begin = entry.position if entry else 0
    why = "That is the position in the nearest entry that is not above the offset."
    wrong = {
        "0": "That reads the whole .log up to the message. The index is there to avoid that.",
        str(position): "That needs an entry for each message. The index is sparse.",
    }
    if entry:
        wrong[str(entry.relative_offset)] = (
            "That is the first number of the entry: an offset, without the number in the file's "
            "name. The second one is the position."
        )
    else:
        why = "No entry is low enough, so the walk begins with the first message."
        wrong["nowhere: the message is not found"] = (
            "A message without an entry is found, too: the walk comes to it."
        )
    return question_with_enough_choices(
        ask("At which byte does the search begin to read?", str(begin), why, wrong)
    )


def what_is_committed(offset: int, committed: int, polled: int, position: int) -> Ask | None:
    """Ask which offset a consumer commits when it has read a message."""
    return question_with_enough_choices(
        ask(
            f"The consumer has read offset {offset}, the last one of this partition, and commits. "
            "Which offset does the group store for the partition?",
            str(committed),
            "A committed offset is the next one to read.",
            {
                str(offset): "That is the last one that was read. The next reader would read it "
                "again.",
                str(polled): "That counts what was read in all partitions. Each partition has an "
                "offset of its own.",
                str(position): "That is a position in a file. A group does not know files.",
            },
        )
    )
