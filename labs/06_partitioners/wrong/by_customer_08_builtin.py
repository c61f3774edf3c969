# exercise: 15
# reason: builtin-hash
class ByCustomer08:
    def __init__(self, properties):
        self.properties = properties

    def partition(self, key, number_of_partitions):
        customer = key.split(":")[0]
        return hash(customer) % number_of_partitions
