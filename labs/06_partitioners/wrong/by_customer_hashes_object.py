# exercise: 16
# reason: hashes-the-object
from kminilog.partitioners.keyed import murmur2_partition


class ByCustomer:
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        every = cluster.partitions_for_topic(topic)
        if key_bytes is None:
            return (cluster.available_partitions_for_topic(topic) or every)[0].partition
        customer = (key.encode() if key else key_bytes).split(b":")[0]
        return murmur2_partition(customer, len(every))
