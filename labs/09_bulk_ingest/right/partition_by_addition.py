# exercise: 1
# differs: without the sign bit a hash below zero is greater by 2**31
from kminilog.format.hashing import murmur2


def murmur2_partition(key, partitions):
    number = murmur2(key)
    if number < 0:
        number += 2**31
    return number - number // partitions * partitions
