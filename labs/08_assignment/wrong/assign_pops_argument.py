# exercise: 2
# reason: changes-arguments
from kminilog.consumer.assignors.interface import members_by_topic, partitions_of


def assign(self, partitions, members):
    answer = {member.id: [] for member in members}
    for topic, readers in members_by_topic(partitions, members).items():
        numbered = partitions_of(topic, partitions.pop(topic))
        for member, (start, count) in zip(readers, runs(len(numbered), len(readers)), strict=False):
            answer[member.id] += numbered[start : start + count]
    return answer
