# exercise: 7
# differs: a hash below zero with no power of two, and the empty key where its partition is not 0.
EXPOSE_PARTITION = [(b"foobar", 1_000_003), (b"", 4)]
