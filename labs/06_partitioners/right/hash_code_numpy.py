# exercise: 13
# differs: numpy does the arithmetic of 32 bits; the rule is a method that is chosen once
from functools import reduce

import numpy


class HashCodePartitioner:
    def __init__(self, properties):
        self.positive = getattr(self, "by_" + properties["default-0.8.abs"])

    def by_mask(self, number):
        return number & 0x7FFFFFFF

    def by_abs(self, number):
        return abs(number) & 0x7FFFFFFF

    def partition(self, key, number_of_partitions):
        units = numpy.frombuffer(key.encode("utf-16-le"), "<u2").astype(numpy.uint64)
        last = numpy.uint64(0xFFFFFFFF)
        h = reduce(lambda h, unit: (h * numpy.uint64(31) + unit) & last, units, numpy.uint64(0))
        signed = int(numpy.uint32(h).astype(numpy.int32))
        return self.positive(signed) % number_of_partitions
