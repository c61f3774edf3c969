"""What plays tricks on a terminal, and classes whose exceptions hold it."""

TRICKS = "\x1b[31m\x9b2J\u202e\x7f\x07"


class Partitioner:
    """Cannot say where a key goes."""

    def __init__(self, config: object = None) -> None:
        pass

    def partition(self, key: object, partitions: int) -> int:
        raise RuntimeError(f"no partition\n{TRICKS}")
