# exercise: 2
# differs: every topic's partitions are an iterator, of which each member takes its count
from itertools import islice

from kminilog.consumer.assignors.interface import text_order
from kminilog.format.names import TopicPartition


def assign(self, partitions, members):
    static = [each for each in members if each.instance_id is not None]
    others = [each for each in members if each.instance_id is None]
    static.sort(key=lambda each: text_order(each.instance_id))
    others.sort(key=lambda each: text_order(each.id))
    answer = {each.id: () for each in members}
    for topic, size in sorted(partitions.items()):
        readers = [each for each in static + others if topic in each.topics]
        rest = (TopicPartition(topic, number) for number in range(size))
        if readers:
            for reader, (_, count) in zip(readers, runs(size, len(readers)), strict=True):
                answer[reader.id] += tuple(islice(rest, count))
    return {member: list(given) for member, given in answer.items()}
