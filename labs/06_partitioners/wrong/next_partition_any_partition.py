# exercise: 5
# reason: sticky-ignores-availability


def next_partition(self, topic, cluster, previous):
    cached = self._cached.get(topic)
    if cached is None or cached == previous:
        numbers = [each.partition for each in cluster.partitions_for_topic(topic)]
        others = [number for number in numbers if number != cached]
        self._cached[topic] = others[self._chance.randrange(len(others))]
    return self._cached[topic]
