# exercise: 15
# differs: it hashes by itself, and applies the rule of the settings
from kminilog.format.java_hashing import ABS_RULES, java_hash


class ByCustomer08:
    def __init__(self, properties):
        self.properties = properties

    def partition(self, key, number_of_partitions):
        place = key.find(":")
        number = java_hash(key[:place] if place >= 0 else key)
        return ABS_RULES[self.properties["default-0.8.abs"]](number) % number_of_partitions
