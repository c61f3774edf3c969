# exercise: 3
# reason: multiple-past-end
from kminilog.consumer.assignors.interface import members_by_topic, text_order


class Multiple:
    def assign(self, partitions, members):
        answer = {member.id: [] for member in members}
        for topic, found in members_by_topic(partitions, members).items():
            size = -(-partitions[topic] // len(found))
            for i, member in enumerate(sorted(found, key=lambda each: text_order(each.id))):
                answer[member.id] += [(topic, number) for number in range(i * size, (i + 1) * size)]
        return answer
