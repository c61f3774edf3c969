# exercise: 2
# differs: deals with divmod itself, a partition at a time, into a defaultdict
from collections import defaultdict

from kminilog.consumer.assignors.interface import members_by_topic
from kminilog.format.names import TopicPartition


def assign(self, partitions, members):
    answer = defaultdict(list)
    for topic, readers in members_by_topic(partitions, members).items():
        each, extra = divmod(partitions[topic], len(readers))
        for number in range(partitions[topic]):
            longer = extra * (each + 1)
            place = number // (each + 1) if number < longer else extra + (number - longer) // each
            answer[readers[place].id].append(TopicPartition(topic, number))
    for member in members:
        answer[member.id].sort()
    return answer
