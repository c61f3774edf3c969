# exercise: 16
# differs: it makes what it needs in configure, and has two methods for the two kinds of records
from kminilog.partitioners.keyed import murmur2_partition


class ByCustomer:
    def configure(self, config):
        self.colon = b":"

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        if key_bytes is None:
            return self.without_key(topic, cluster)
        return self.with_key(key_bytes, len(cluster.partitions_for_topic(topic)))

    def with_key(self, key_bytes, number):
        customer, *_ = key_bytes.split(self.colon)
        return murmur2_partition(customer, number)

    def without_key(self, topic, cluster):
        every = cluster.partitions_for_topic(topic)
        down = {each.partition for each in every if each.leader is None}
        order = sorted(every, key=lambda each: each.partition in down)
        return order[0].partition
