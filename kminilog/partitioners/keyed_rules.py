"""The rule by which each partitioner places keys, for callers without a producer.

    default-2.4, default-0.9, built-in   murmur2 of the serialised key
    default-0.8                          Java's hash code of the key object; a key that is UTF-8 was
                                         a text, as the command line takes it

Partitioners that do not look at keys have no rule, and neither has a user's class.
Source: S0 7, S2, S3; Kafka: DefaultPartitioner, Utils.
"""

from collections.abc import Callable

from kminilog.config import short_name
from kminilog.format.java_hashing import ABS_RULES, java_hash
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.producer_settings import PRODUCER_SETTINGS

KeyedRule = Callable[[bytes, int], int]


def hash_code_partition(key: bytes, partitions: int) -> int:
    """Return the partition of a key by Java's hash code, made positive as 0.8.0 did.

    >>> hash_code_partition(b"order4", 3), hash_code_partition(b"\\xff", 3)
    (2, 0)
    """
    return ABS_RULES["mask"](java_hash(as_key_object(key))) % partitions


def as_key_object(key: bytes) -> str | bytes:
    """Return the key object that was serialised to these bytes: a text if they are UTF-8.

    >>> as_key_object("gr\u00f6\u00dfe".encode()), as_key_object(b"\\xff")
    ('gr\u00f6\u00dfe', b'\\xff')
    """
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key


KEYED_RULES: dict[str, KeyedRule] = {
    "default-2.4": murmur2_partition,
    "default-0.9": murmur2_partition,
    "built-in": murmur2_partition,
    "default-0.8": hash_code_partition,
}


def keyed_name(partitioner: str) -> str:
    """Return the name of a partitioner that has a keyed rule; Kafka's class names become ours.

    Raises ValueError, with a list of those that have one.

    >>> keyed_name("kafka.producer.DefaultPartitioner")
    'default-0.8'
    """
    name = short_name(PRODUCER_SETTINGS["partitioner.class"], partitioner)
    if name not in KEYED_RULES:
        known = ", ".join(KEYED_RULES)
        raise ValueError(f"no partitioner {partitioner!r}; there is: {known}")
    return name


def keyed_rule(partitioner: str) -> KeyedRule:
    """Return the keyed rule of a partitioner; raises as `keyed_name`.

    >>> keyed_rule("default-2.4")(b"21", 3)
    0
    """
    return KEYED_RULES[keyed_name(partitioner)]


def name_of(rule: KeyedRule) -> str:
    """Return a partitioner that places keys by this rule.

    >>> name_of(murmur2_partition)
    'default-2.4'
    """
    return next(name for name, one in KEYED_RULES.items() if one is rule)
