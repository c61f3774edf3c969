# exercise: 7
# differs: a hash below zero with no power of two, no key where its partition is not 0, odd bytes.
EXPOSE_PARTITION = [(b"foobar", 1_000_003), (b"", 4), (b" \xff", 1_000_003)]
