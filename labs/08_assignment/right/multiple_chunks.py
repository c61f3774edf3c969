# exercise: 3
# differs: cuts the partitions into pieces, and gives the pieces out
from math import ceil

from kminilog.consumer.assignors.interface import Assignor, partitions_of, text_order


class Multiple(Assignor):
    def assign(self, partitions, members):
        ids = sorted((member.id for member in members), key=text_order)
        reads = {member.id: member.topics for member in members}
        answer = dict.fromkeys(ids, ())
        for topic in partitions:
            readers = [id for id in ids if topic in reads[id]]
            every = partitions_of(topic, partitions[topic])
            size = max(ceil(len(every) / max(len(readers), 1)), 1)
            pieces = [every[start : start + size] for start in range(0, len(every), size)]
            for reader, piece in zip(readers, pieces, strict=False):
                answer[reader] = (*answer[reader], *piece)
        return {id: list(answer[id]) for id in ids}
