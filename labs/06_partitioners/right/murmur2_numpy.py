# exercise: 1
# differs: numpy's numbers of 32 bits wrap by themselves
import numpy


def murmur2(data):
    words = numpy.frombuffer(data + bytes(-len(data) % 4), dtype="<u4").astype(numpy.uint32)
    whole = len(data) // 4
    m = numpy.uint32(0x5BD1E995)
    with numpy.errstate(over="ignore"):
        h = numpy.uint32(0x9747B28C ^ len(data))
        for k in words[:whole] * m:
            h = h * m ^ (k ^ k >> numpy.uint32(24)) * m
        for tail in words[whole:]:
            h = (h ^ tail) * m
        h = (h ^ h >> numpy.uint32(13)) * m
        h ^= h >> numpy.uint32(15)
    return int(h.astype(numpy.int32))
