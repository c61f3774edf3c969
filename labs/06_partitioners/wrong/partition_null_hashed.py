# exercise: 3
# reason: null-is-hashed


def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
    return to_positive(murmur2(key_bytes or b"")) % len(cluster.partitions_for_topic(topic))
