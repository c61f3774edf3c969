# exercise: 11
# differs: numpy, with a type of named fields at their places
import numpy as np

HEADER = np.dtype(
    {
        "names": ["base", "length", "attributes", "delta", "records"],
        "formats": [">i8", ">i4", ">i2", ">i4", ">i4"],
        "offsets": [0, 8, 21, 23, 57],
        "itemsize": 61,
    }
)


def batch_header(data, position=0):
    found = np.frombuffer(data, HEADER, 1, position)[0]
    base, length, attributes, delta, records = (int(found[name]) for name in HEADER.names)
    return base, base + delta, attributes & 7, records, position + 12 + length
