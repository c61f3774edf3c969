# exercise: 3
# differs: members_by_topic gives the readers, which are sorted again by id
from collections import defaultdict

from kminilog.consumer.assignors.interface import Assignor, members_by_topic, text_order
from kminilog.format.names import TopicPartition


class Multiple(Assignor):
    def assign(self, partitions, members):
        found = defaultdict(list, {member.id: [] for member in members})
        for topic, readers in reversed(members_by_topic(partitions, members).items()):
            m, rest = divmod(partitions[topic], len(readers))
            m += rest > 0
            for place, id in enumerate(sorted((r.id for r in readers), key=text_order)):
                mine = range(place * m, min((place + 1) * m, partitions[topic]))
                found[id] += (TopicPartition(topic, number) for number in mine)
        return found
