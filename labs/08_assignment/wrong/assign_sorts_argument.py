# exercise: 2
# reason: changes-arguments
from kminilog.consumer.assignors.interface import in_order, partitions_of


def assign(self, partitions, members):
    members[:] = in_order(members)
    answer = {member.id: [] for member in members}
    for topic in sorted(partitions):
        readers = [member for member in members if topic in member.topics]
        numbered = partitions_of(topic, partitions[topic])
        for member, (start, count) in zip(
            readers, runs(len(numbered), len(readers) or 1), strict=False
        ):
            answer[member.id] += numbered[start : start + count]
    return answer
