"""`kminilog serve`: Kafka's clients talk to a log dir, or to a cluster, over the network.

It holds the lock until it ends, so no other command writes there meanwhile; readers go on. Ctrl-C
and SIGTERM end it between two requests, with everything flushed. In a cluster each broker that runs
has a port of its own; `kminilog cluster crash` and `start` in another terminal act on it.
"""

import asyncio
import socket
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import click

from kminilog.cli.shared.cluster_option import cluster_at, is_cluster
from kminilog.cli.shared.clusters import make_cluster, open_cluster
from kminilog.cli.shared.interrupts import check_interrupt, is_interrupted
from kminilog.cli.shared.options import config_option, example, json_option
from kminilog.cli.shared.output import (
    flush,
    is_terminal,
    warn,
    warn_all,
    write_document,
    write_line,
    write_record,
)
from kminilog.cli.shared.recovery_reading import open_writer
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.cluster.state_file import MAX_BROKERS
from kminilog.config import parse_config
from kminilog.storage.log_dir.log_dir import holds_cluster
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.system import SYSTEM_CHANCE, WallClock
from kminilog.text import count, printable
from kminilog.wire.broker import BROKER_SETTINGS, ServingBroker
from kminilog.wire.cluster import ClusterServer, ServedCluster
from kminilog.wire.served import Address, ServedLogDir
from kminilog.wire.server import Server, bound_socket
from kminilog.wire.watching import AnsweredRequest, described, in_words

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LOOK_SECONDS = 0.05
_MOST_FILES = 10_000  # where there is no limit
_HIGHEST_PORT = (1 << 16) - 1
_NAME_COLUMNS = 24
_ROW = "{:<24} {:<16} {:<7} {}"


def to_address(ctx: click.Context, param: click.Parameter, value: str | None) -> Address | None:
    """Return the address that a text like `example.org:9092` means."""
    if value is None:
        return None
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise click.BadParameter(f"{value!r} is no address; write it as HOST:PORT", ctx, param)
    return Address(host, int(port))


@click.command("serve", epilog=example("kminilog serve --port 9092 --auto-create-topics"))
@click.option("--host", default="127.0.0.1", metavar="HOST", help="Address to listen at.")
@click.option(
    "--port",
    default=9092,
    type=click.IntRange(0, _HIGHEST_PORT),
    help="Port; 0: any free one. In a cluster broker 0 has it, broker 1 the next one, and so on.",
)
@click.option(
    "--brokers",
    type=click.IntRange(1, MAX_BROKERS),
    metavar="N",
    help="Serve a cluster of N brokers; it is made, if the directory has none yet.",
)
@click.option(
    "--advertise",
    metavar="HOST:PORT",
    callback=to_address,
    help="Address that clients are told to use.  [default: the one it listens at]",
)
@click.option("--auto-create-topics", is_flag=True, help="Create topics that clients ask for.")
@click.option(
    "--watch",
    "is_watched",
    is_flag=True,
    help="Print a line for each request: who, what, and what was appended where.",
)
@config_option("Setting of the broker, e.g. num.partitions=3. Repeatable.")
@json_option
@click.pass_obj
def command(
    log_dir_path: Path,
    host: str,
    port: int,
    brokers: int | None,
    advertise: Address | None,
    auto_create_topics: bool,
    is_watched: bool,
    config: tuple[str, ...],
    as_json: bool,
) -> None:
    """Serve a log dir, or a cluster, to Kafka clients until Ctrl-C.

    Creates the log dir if it is not there. Topics that clients create are in the kafka dialect.
    With --brokers or --cluster each live broker of a cluster has a port. `kminilog cluster crash
    DIR BROKER`, typed in another terminal, closes it; `kminilog cluster start` opens it again.
    """
    settings = parse_config(config, BROKER_SETTINGS)
    if auto_create_topics:
        settings["auto.create.topics.enable"] = True
    if host not in LOOPBACK:
        warn(f"whoever reaches {host} can read and change everything: there is no authentication")
    failed: list[OSError] = []  # nobody can see what is done: it ends, as any command does
    has_brokers = bool(brokers) or is_cluster()
    told = _teller(failed, has_brokers) if is_watched else lambda asked: None

    def is_over() -> bool:
        return bool(is_interrupted() or failed)

    if has_brokers:
        _make_if_new(log_dir_path, brokers)
        sockets = _sockets(host, port, cluster_at(log_dir_path).state().brokers)
        with ExitStack() as open_ones, open_cluster(log_dir_path) as cluster:
            for each in sockets.values():
                open_ones.enter_context(each)
            dropped = asyncio.run(
                _serve_cluster(cluster, sockets, host, advertise, settings, as_json, told, is_over)
            )
    else:
        with open_writer(log_dir_path, create=True) as writer:
            warn_all(writer.warnings)
            dropped = asyncio.run(
                _serve(writer, host, port, advertise, settings, as_json, told, is_over)
            )
    if failed:
        raise failed[0]
    warn_all(
        f"{count(number, 'record')} had {what}, which were not stored"
        for what, number in dropped.items()
        if number
    )
    check_interrupt()


async def _serve(
    writer: LogDirWriter,
    host: str,
    port: int,
    advertise: Address | None,
    settings: dict[str, Any],
    as_json: bool,
    told: Callable[[AnsweredRequest], None],
    is_over: Callable[[], bool],
) -> dict[str, int]:
    """Serve until it is over; return how often something could not be stored."""
    with _socket(host, port) as listening:
        here = Address(host, listening.getsockname()[1])
        served = ServedLogDir(writer, advertise or here)
        warn_all(served.broken)
        broker = ServingBroker(served, WallClock(), SYSTEM_CHANCE, settings)
        server = Server(broker, told, refused=warn, most_connections=_most_connections())
        listener = await server.listen(listening)
        _tell_ready(as_json, here)
        try:
            while not is_over():
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            listener.close()
            await server.close()
            broker.close()
        return dict(broker.messages.dropped)


def _make_if_new(directory: Path, brokers: int | None) -> None:
    """Make a cluster of so many brokers, if there is none; refuse another number of them."""
    if brokers is None:
        return
    if not holds_cluster(directory):
        make_cluster(directory, brokers)
    elif (number := len(cluster_at(directory).state().brokers)) != brokers:
        reason = f"the cluster in {directory} has {count(number, 'broker')}, not {brokers}"
        raise click.UsageError(f"{reason}; leave --brokers out")


async def _serve_cluster(
    cluster: MiniCluster,
    sockets: dict[int, socket.socket],
    host: str,
    advertise: Address | None,
    settings: dict[str, Any],
    as_json: bool,
    told: Callable[[AnsweredRequest], None],
    is_over: Callable[[], bool],
) -> dict[str, int]:
    """Serve a cluster, whose brokers have these sockets; else as `_serve`."""
    here = {node: Address(host, each.getsockname()[1]) for node, each in sockets.items()}
    served = ServedCluster(cluster, here)
    if advertise:
        first = advertise.port
        served.addresses = {node: advertise._replace(port=first + node) for node in here}
    broker = ServingBroker(served, WallClock(), SYSTEM_CHANCE, settings)

    def bind(node: int) -> socket.socket:
        return sockets.pop(node, None) or bound_socket(*here[node])

    most = max(1, _most_connections() // len(here))
    server = ClusterServer(served, broker, bind, told, warn, most_connections=most)
    try:
        await server.settle()
        for node, address in here.items():
            if node in served.nodes():
                _tell_ready(as_json, address, broker=node)
            else:
                warn(f"broker {node} is down, so nothing listens at {address.host}:{address.port}")
        serving = asyncio.create_task(server.run())
        while not is_over() and not serving.done():
            await asyncio.sleep(_LOOK_SECONDS)
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving
    finally:
        await server.close()
        broker.close()
    return dict(broker.messages.dropped)


def _most_connections() -> int:
    """Let this process have as many open files as it may; return how many may be connections.

    A shell often allows only 1,024 without being asked. Half of them are for logs.
    """
    import resource  # not every system has it

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = hard if hard != resource.RLIM_INFINITY else max(soft, _MOST_FILES)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    return soft // 2


def _sockets(host: str, port: int, brokers: Iterable[int]) -> dict[int, socket.socket]:
    """Return a socket for each broker, at this port and the next ones; 0: at any free ones."""
    made: dict[int, socket.socket] = {}
    try:
        for node in brokers:
            made[node] = _socket(host, port and port + node)
    except BaseException:
        for each in made.values():
            each.close()
        raise
    return made


def _socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address; an error of usage if that cannot be."""
    try:
        return bound_socket(host, port)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "there is no such port"
        told = f"cannot listen at {host}:{port} ({reason}); choose another --port"
        raise click.UsageError(told) from None


def _teller(failed: list[OSError], has_brokers: bool) -> Callable[[AnsweredRequest], None]:
    """Return what writes a line for each request: a row on a terminal, JSON in a pipe.

    It does not raise: `failed` gets the error.
    """
    is_table = is_terminal()
    headings = ["client", "API", "version", "what it did"] if is_table else []

    def write(asked: AnsweredRequest) -> None:
        document = described(asked)
        if headings:  # below the line that says that it is ready
            write_line(has_brokers * "broker " + _ROW.format(*headings))
            headings.clear()
        if is_table:
            name = printable(asked.client_id or asked.client)[:_NAME_COLUMNS]
            row = _ROW.format(name, asked.api, asked.version, in_words(document))
            if has_brokers:
                row = f"{asked.node:<6} {row}"
            write_line(row.rstrip())
        else:
            write_record(document)
        flush()

    def tell(asked: AnsweredRequest) -> None:
        try:
            write(asked)
        except OSError as error:
            failed.append(error)

    return tell


def _tell_ready(as_json: bool, address: Address, **of_cluster: int) -> None:
    if as_json and of_cluster:
        write_record({**of_cluster, **address._asdict()})
    elif as_json:
        write_document(address._asdict())
    else:
        write_line(f"listening on {address.host}:{address.port}")
    flush()
