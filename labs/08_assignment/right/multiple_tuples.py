# exercise: 3
# differs: each share is a tuple, which nobody can change; two members may have the same empty one.
from collections.abc import Mapping, Sequence

from kminilog.consumer.assignors.interface import Assignment, Assignor, Member, text_order
from kminilog.format.names import TopicPartition


class Multiple(Assignor):
    def assign(self, partitions: Mapping[str, int], members: Sequence[Member]) -> Assignment:
        found = {member.id: () for member in members}
        for topic in sorted(partitions):
            readers = sorted((each.id for each in members if topic in each.topics), key=text_order)
            each = -(-partitions[topic] // max(len(readers), 1))
            for place, reader in enumerate(readers):
                end = min((place + 1) * each, partitions[topic])
                run = range(place * each, end)
                found[reader] += tuple(TopicPartition(topic, number) for number in run)
        return found
