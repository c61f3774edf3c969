"""Lab 11, a client of your own: your answers. README.md says what to do."""


# 11.1  Frame and header
def frame(api_key, correlation_id, client_id, body):
    """Return a request: its size, the header, and the body. The version is 0.

    `client_id` may be None.

    >>> frame(18, 7, "desk", b"").hex(" ", -2)
    '0000 000e 0012 0000 0000 0007 0004 6465 736b'
    """
    raise NotImplementedError


# 11.2  The body of Produce
def produce_body(topic, partition, message_set, acks=1):
    """Return the body of Produce v0 for one partition; the broker has 1000 ms.

    >>> produce_body("t", 2, b"set").hex(" ", -2)
    '0001 0000 03e8 0000 0001 0001 7400 0000 0100 0000 0200 0000 0373 6574'
    """
    raise NotImplementedError


# 11.3  What the broker says to it
def produced(answer):
    """Return (topic, partition, error, base offset) of each partition in an answer to Produce v0.

    `answer` begins with the correlation id; the size in front of it was read already.

    >>> produced(bytes.fromhex("00000007 00000001 0001 74 00000001 00000002 0003") + b"\\xff" * 8)
    [('t', 2, 3, -1)]
    """
    raise NotImplementedError


# 11.4  Messages, and one that is cut
def fetched(answer, offset):
    """Return the whole messages of an answer to Fetch v0, and the offset to ask for next.

    The answer is for one partition, which was asked for from `offset` on. A message is a tuple:
    offset, key, value. Raises ValueError for an answer with an error.

    >>> head = bytes.fromhex("00000008 00000001 0001 74 00000001 00000000")
    >>> fetched(head + bytes.fromhex("0000 0000000000000004 00000000"), 4)
    ([], 4)
    """
    raise NotImplementedError


# 11.5  Which answer is it?
def answers(data, waiting):
    """Return the answers that are whole in `data`, and the bytes after them.

    An answer is a tuple: correlation id, and what comes after it. `waiting` are the correlation ids
    that were sent, in order. Raises ValueError for an answer that nobody waits for.

    >>> answers(bytes.fromhex("00000006 00000007 abcd 000000"), [7])
    ([(7, b'\\xab\\xcd')], b'\\x00\\x00\\x00')
    """
    raise NotImplementedError


# 11.6  After an error
def after_error(code):
    """Return what a client does next: one of the texts in README.md, 11.6.

    >>> after_error(0)
    'go on'
    """
    raise NotImplementedError


# 11.7  Read a request
CORRELATION_ID = ...
PARTITION = ...
SET_POSITION = ...
BASE_OFFSET = ...


# 11.9  Inputs that expose a wrong frame
EXPOSE_FRAME = ...
