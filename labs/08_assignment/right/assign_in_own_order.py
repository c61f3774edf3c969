# exercise: 2
# differs: members stand in the answer as they are served; no helper of the library
from kminilog.consumer.assignors.interface import text_order
from kminilog.format.names import TopicPartition


def assign(self, counts, group):
    static = [member for member in group if member.instance_id is not None]
    others = [member for member in group if member.instance_id is None]
    static.sort(key=lambda member: text_order(member.instance_id))
    others.sort(key=lambda member: text_order(member.id))
    answer = {member.id: [] for member in (*static, *others)}
    for topic in sorted(counts):
        readers = [member.id for member in (*static, *others) if topic in member.topics]
        numbers = iter(range(counts[topic]))
        for place, id in enumerate(readers):
            for _ in range(place, counts[topic], len(readers)):
                answer[id].append(TopicPartition(topic, next(numbers)))
    return answer
