# exercise: 2
# reason: static-among-others
from kminilog.consumer.assignors.interface import partitions_of, text_order


def assign(self, partitions, members):
    answer = {member.id: [] for member in members}
    ordered = sorted(members, key=lambda each: text_order(each.instance_id or each.id))
    for topic in sorted(partitions):
        readers = [member for member in ordered if topic in member.topics]
        numbered = partitions_of(topic, partitions[topic])
        for member, (start, count) in zip(
            readers, runs(len(numbered), len(readers) or 1), strict=False
        ):
            answer[member.id] += numbered[start : start + count]
    return answer
