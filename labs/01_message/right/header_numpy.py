# exercise: 1
# differs: one record of numpy with two big-endian fields.
import numpy


def header(offset, content):
    return numpy.array([(offset, len(content) + 4)], dtype=">i8,>i4").tobytes()
