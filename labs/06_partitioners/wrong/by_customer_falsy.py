# exercise: 16
# reason: empty-as-null
from kminilog.partitioners.keyed import murmur2_partition


class ByCustomer:
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        every = cluster.partitions_for_topic(topic)
        if not key_bytes:
            return (cluster.available_partitions_for_topic(topic) or every)[0].partition
        return murmur2_partition(key_bytes.split(b":")[0], len(every))
