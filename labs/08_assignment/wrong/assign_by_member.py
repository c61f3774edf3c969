# exercise: 2
# reason: topics-as-given
from kminilog.consumer.assignors.interface import in_order, partitions_of


def assign(self, partitions, members):
    answer = {}
    ordered = in_order(members)
    for member in ordered:
        answer[member.id] = []
        for topic in member.topics:
            readers = [each for each in ordered if topic in each.topics]
            numbered = partitions_of(topic, partitions.get(topic, 0))
            start, count = runs(len(numbered), len(readers))[readers.index(member)]
            answer[member.id] += numbered[start : start + count]
    return answer
