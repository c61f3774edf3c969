# exercise: 2
# differs: one comprehension for each member, from the member's own place among the readers
from kminilog.consumer.assignors.interface import in_order
from kminilog.format.names import TopicPartition


def assign(self, partitions, members):
    readers = {topic: [m for m in in_order(members) if topic in m.topics] for topic in partitions}

    def share(member, topic):
        place = readers[topic].index(member)
        start, count = runs(partitions[topic], len(readers[topic]))[place]
        return [TopicPartition(topic, number) for number in range(start, start + count)]

    return {
        member.id: [
            each
            for topic in sorted({*member.topics} & {*partitions})
            for each in share(member, topic)
        ]
        for member in members
    }
