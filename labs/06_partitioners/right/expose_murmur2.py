# exercise: 12
# differs: a whole word and each length of a rest, of bytes above 127; a long key.
EXPOSE_MURMUR2 = [
    (b"\xff\xfe\xfd\xfc\xfb\xfa\xf9",),
    (b"21",),
    (b"foobar",),
    (b"",),
    (bytes(8000),),
]
