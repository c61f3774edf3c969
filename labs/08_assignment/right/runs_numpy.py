# exercise: 1
# differs: numpy splits the partitions
import numpy


def runs(partitions, members):
    parts = numpy.array_split(numpy.arange(partitions), members)
    sizes = [len(part) for part in parts]
    starts = numpy.cumsum([0, *sizes[:-1]]).tolist()
    return tuple(map(tuple, zip(starts, sizes, strict=True)))
