# exercise: 3
# reason: balanced-instead
from kminilog.consumer.assignors.interface import partitions_of, text_order


class Multiple:
    def assign(self, partitions, members):
        answer = {member.id: [] for member in members}
        for topic in sorted(partitions):
            every = partitions_of(topic, partitions[topic])
            by_id = sorted(members, key=lambda each: text_order(each.id))
            readers = [member for member in by_id if topic in member.topics]
            shares = runs(len(every), len(readers) or 1)
            for member, (start, count) in zip(readers, shares, strict=False):
                answer[member.id] += every[start : start + count]
        return answer
