# exercise: 2
# reason: pairs-of-no-name
from kminilog.consumer.assignors.interface import members_by_topic


def assign(self, partitions, members):
    answer = {member.id: [] for member in members}
    for topic, readers in members_by_topic(partitions, members).items():
        shares = runs(partitions[topic], len(readers))
        for member, (start, count) in zip(readers, shares, strict=True):
            answer[member.id] += [(topic, number) for number in range(start, start + count)]
    return answer
