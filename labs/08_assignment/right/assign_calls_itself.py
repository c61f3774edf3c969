# exercise: 2
# differs: several topics are the answers to each of them, by the method itself
from kminilog.consumer.assignors.interface import members_by_topic, partitions_of


def assign(self, partitions, members):
    if len(partitions) > 1:
        each = [self.assign({topic: partitions[topic]}, members) for topic in sorted(partitions)]
        return {member.id: [p for answer in each for p in answer[member.id]] for member in members}
    answer = {member.id: [] for member in members}
    for topic, readers in members_by_topic(partitions, members).items():
        every = partitions_of(topic, partitions[topic])
        for member, (start, count) in zip(readers, runs(len(every), len(readers)), strict=True):
            answer[member.id] += every[start : start + count]
    return answer
