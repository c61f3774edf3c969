"""A generated access log: the same lines for the same seed, in the format of web servers.

    83.149.9.216 - - [17/May/2015:10:05:03 +0000] "GET /blog HTTP/1.1" 200 4096 "-" "Mozilla/5.0 …"

Addresses are skewed as they are in real logs: the n-th most frequent has a weight of 1/n, so a few
clients make most of the lines and many appear once. All addresses are reserved for documentation
(RFC 5737, 3849).
Source: ours.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random

_BEGINNING = datetime(2015, 5, 17, 10, 5, 3, tzinfo=UTC)
_NETWORKS = ("192.0.2", "198.51.100", "203.0.113")
_PATHS = (
    "/",
    "/robots.txt",
    "/favicon.ico",
    "/blog/what-is-a-log",
    "/blog/offsets-and-positions",
    "/images/segment.png",
    "/style.css",
    "/search?q=partition+%D0%BA%D0%BB%D1%8E%D1%87",
)
_AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:38.0) Gecko/20100101 Firefox/38.0",
    "Mozilla/5.0 (compatible; ExampleBot/1.0; +http://example.org/bot.html)",
    "curl/7.42.1",
)


def access_log(rows: int, seed: int = 0) -> Iterator[bytes]:
    """Yield so many lines, each with its newline; O(rows).

    >>> lines = list(access_log(3, seed=1))
    >>> len(lines), lines == list(access_log(3, seed=1)), lines == list(access_log(3, seed=2))
    (3, True, False)
    """
    chance = Random(seed)
    clients = _clients(max(rows // 6, 1), chance)
    weights = list(accumulate(1 / rank for rank in range(1, len(clients) + 1)))
    at = _BEGINNING
    for client in chance.choices(clients, cum_weights=weights, k=rows):
        at += timedelta(seconds=chance.randrange(3))
        path, agent = chance.choice(_PATHS), chance.choice(_AGENTS)
        status = chance.choices((200, 304, 404, 500), weights=(90, 5, 4, 1))[0]
        size = chance.randrange(100, 60_000) if status == 200 else 0
        line = (
            f'{client} - - [{at:%d/%b/%Y:%H:%M:%S %z}] "GET {path} HTTP/1.1" '
            f'{status} {size} "-" "{agent}"\n'
        )
        yield line.encode()


def _clients(number: int, chance: Random) -> list[str]:
    """Return different addresses in random order, IPv6 ones when there are no more of IPv4."""
    short = [f"{network}.{host}" for network in _NETWORKS for host in range(1, 255)]
    long = [f"2001:db8::{host:x}" for host in range(1, max(number - len(short), 0) + 1)]
    chance.shuffle(short)
    return (short + long)[:number]
