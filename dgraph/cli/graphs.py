"""EDGES and the options that say how to read them and where to run: the same for every command that reads a graph."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from dgraph.cli.command import called
from dgraph.cli.doing import doing
from dgraph.cli.options import FILE, UNDIRECTED, VERTICES, among, offered
from dgraph.errors import FileError, OptionError, RunError

POLICIES = ("auto", "outgoing", "incoming", "cartesian", "hybrid", "metis")
LOOPS, REPEATS = click.Choice(["keep", "drop"]), click.Choice(["keep", "first", "sum", "min", "max"])


def formats() -> list[str]:
    """What --format may be."""
    from dgraph.io.registry import FORMATS

    return list(FORMATS)


READING = (
    click.argument("edges", metavar="EDGES", type=FILE),
    click.option(
        "--format",
        shell_complete=offered(formats),
        help="Format of EDGES, where its suffix does not tell; of standard input: text.",
    ),
    click.option("--source", metavar="COLUMN", help="Column of the edges' sources: a name, or a number, from 0."),
    click.option("--destination", metavar="COLUMN", help="Column of destinations, likewise.  [default: the second]"),
    click.option("--weight", metavar="COLUMN", help="Column of weights, likewise.  [default: none, or the format's]"),
    click.option(
        "--columns",
        multiple=True,
        metavar="COLUMN",
        help="Another edge column to keep; may be repeated; all is every one.  [default: none]",
    ),
    click.option("--header/--no-header", default=None, help="Whether text begins with names of columns.  [guessed]"),
    click.option("--delimiter", metavar="SIGN", help="Between columns of text; ' ' is any run of blanks.  [guessed]"),
    click.option("--id-type", type=click.Choice(["int64", "string"]), help="Of text: by default int64 where all fit."),
    UNDIRECTED,
    VERTICES,
    click.option("--vertex-file", type=FILE, metavar="FILE", help="Lists vertices, for those without edges."),
    click.option("--loops", type=LOOPS, default="keep", show_default=True, help="Edges from a vertex to itself."),
    click.option("--repeats", type=REPEATS, default="keep", show_default=True, help="Edges with the same ends."),
    click.option("--symmetrize", is_flag=True, help="Add the reverse of every edge."),
    among("--policy", POLICIES, "Which partition owns a vertex or an edge: "),
    click.option("--parts", type=click.IntRange(1, 2**16 - 1), help="Partitions.  [default: one for each worker]"),
)
PLACE = (
    click.option("--workers", type=click.IntRange(1), help="Start so many worker processes on this machine."),
    click.option("--cluster", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler."),
    click.option("--scheduler-file", type=FILE, help="File in which that scheduler has put its address."),
    click.option("--tls-ca-file", type=FILE, help="Certificate of the authority, for tls:// clusters."),
    click.option("--tls-cert", type=FILE, help="Certificate of this client."),
    click.option("--tls-key", type=FILE, help="Private key of this client."),
)


COLUMNS = ("source", "destination", "weight")
HEADS = ("id", "vertex", "node", "name")  # what the one column of a list of vertices may be called
WHOLE = "\x01"  # separates nothing


@dataclass(frozen=True)
class Place:
    """Where to run."""

    workers: int | None
    cluster: str | None
    scheduler_file: str | None
    tls_ca_file: str | None
    tls_cert: str | None
    tls_key: str | None

    @contextmanager
    def client(self) -> Iterator[Any]:
        """A client of the cluster asked for; None is this process."""
        chosen = [self.workers, self.cluster, self.scheduler_file]
        if sum(one is not None for one in chosen) > 1:
            raise OptionError("--workers, --cluster and --scheduler-file exclude each other: name one")
        if not any(chosen):
            yield None
            return
        security = self._security()
        if self.workers:
            if security is not None:
                raise OptionError("--tls-ca-file is for --cluster: workers that are started here speak without TLS")
            from dgraph.bench.place import local_cluster

            with local_cluster(self.workers) as client:
                yield client
            return
        from distributed import Client

        address = self._address()
        if security is not None and "://" not in address:
            address = f"tls://{address}"
        if security is not None and not address.startswith("tls://"):
            raise OptionError(f"{address} speaks without TLS, for which --tls-ca-file is: write tls://")
        if address.startswith("tls://") and not _is_secure(security):
            files = "--tls-ca-file, --tls-cert and --tls-key"
            raise OptionError(f"{address} needs {files}, or these in Dask's configuration")
        try:
            client = Client(address, set_as_default=False, security=security, timeout=10)
        except (OSError, TimeoutError, ValueError) as error:
            if type(error).__module__ == "ssl":
                files = ", ".join(filter(None, (self.tls_ca_file, self.tls_cert, self.tls_key)))
                raise OptionError(f"these files do not go together: {files} ({error})") from error
            raise RunError(f"no scheduler answers at {address}: {error}") from error
        with client:
            yield client

    def _address(self) -> str:
        """Of the scheduler. Dask itself would wait for a missing file for ever, and lets bad addresses fail late."""
        address = self.cluster
        if self.scheduler_file is not None:
            try:
                address = str(json.loads(Path(self.scheduler_file).read_text())["address"])
            except (OSError, ValueError, KeyError, TypeError) as error:
                remedy = "name the file that `dask scheduler --scheduler-file` has written"
                raise OptionError(f"{self.scheduler_file} tells no scheduler's address: {error} ({remedy})") from error
        assert address is not None
        if not re.fullmatch(r"((?!https?:)\w+://)?[^/\s]+:\d+/?", address):
            raise OptionError(f"{address!r} is no address of a scheduler: it looks like tcp://10.0.0.1:8786")
        return address

    def _security(self) -> Any:
        if not self.tls_ca_file:
            if self.tls_cert or self.tls_key:
                raise OptionError("--tls-cert and --tls-key need --tls-ca-file")
            return None
        from distributed.security import Security

        for path in (self.tls_ca_file, self.tls_cert, self.tls_key):
            if path is not None and not Path(path).is_file():
                raise OptionError(f"{path}: there is no such file of TLS")
        files = {"tls_ca_file": self.tls_ca_file, "tls_client_cert": self.tls_cert, "tls_client_key": self.tls_key}
        return Security(**files, require_encryption=True)


def _is_secure(security: Any) -> bool:
    """Whether all is there that TLS needs: Dask would fail late, and say little."""
    from distributed.security import Security

    return (security or Security()).get_connection_args("client").get("ssl_context") is not None


@dataclass(frozen=True)
class Edges:
    """Which edges, and where their graph will be."""

    path: str
    place: Place
    options: dict[str, Any]

    @contextmanager
    def graph(self) -> Iterator[Any]:
        """The graph, as long as its cluster is there."""
        import dgraph as dg
        from dgraph.building.saved import MANIFEST

        with self.place.client() as client, _spooled(self.path) as path:
            how = {name: value for name, value in self.options.items() if value not in (None, ())}
            if "columns" in how:
                how["columns"] = "all" if "all" in how["columns"] else list(how["columns"])
            directed = False if how.pop("undirected") else None
            if (Path(path) / MANIFEST).is_file():
                given = [name for name in how if name not in ("policy", "parts") and how[name] not in (False, "keep")]
                if given or directed is False:
                    raise OptionError(f"{path} is a saved graph, which has its own {', '.join(given) or 'direction'}")
                policy = None if how["policy"] == "auto" else how["policy"]
                yield dg.open_graph(path, policy=policy, parts=how.get("parts"), client=client)
                return
            if self.path == "-":
                how.setdefault("format", "text")
            if "vertex_file" in how:
                if "vertices" in how:
                    raise OptionError("--vertices and --vertex-file exclude each other: name one")
                how["vertices"] = _vertices(how.pop("vertex_file"))
            how |= {name: int(how[name]) for name in COLUMNS if how.get(name, "").isdecimal()}
            with doing(f"reading {'standard input' if self.path == '-' else self.path}"):
                graph = dg.read_edges(path, directed=directed, client=client, **how)
            yield graph


def reads_graph(command: Callable) -> Callable:
    """Adds EDGES and its options to a command, which is given them as `edges`, an `Edges`."""

    @wraps(command)
    def with_edges(edges: str, **given: Any) -> Any:
        names = [_name(option) for option in READING[1:]]
        options = {name: given.pop(name) for name in names}
        return command(edges=Edges(edges, _take_place(given), options), **given)

    return _decorated(with_edges, (*READING, *PLACE))


def runs_somewhere(command: Callable) -> Callable:
    """Adds the options of the place to a command, which is given them as `place`."""

    @wraps(command)
    def with_place(**given: Any) -> Any:
        return command(place=_take_place(given), **given)

    return _decorated(with_place, PLACE)


def _take_place(given: dict[str, Any]) -> Place:
    return Place(**{_name(option): given.pop(_name(option)) for option in PLACE})


def _decorated(command: Callable, options: tuple[Callable, ...]) -> Callable:
    for option in reversed(options):
        command = option(command)
    return command


def _name(option: Callable) -> str:
    """What a decorator calls its value."""

    def probe() -> None: ...

    return str(option(probe).__click_params__[0].name)


@contextmanager
def _spooled(path: str) -> Iterator[str]:
    """A path that can be read twice: standard input goes through a file."""
    if path != "-":
        yield path
        return
    from dgraph.io.files import compression_of

    first = sys.stdin.buffer.read(1 << 22)
    if not first:
        raise OptionError("standard input is empty: pipe edges into it, or name their file instead of -")
    with tempfile.NamedTemporaryFile(suffix=f".txt{compression_of(first)}") as spool:
        spool.write(first)
        with doing("reading standard input"):
            shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 22)
            spool.flush()
        with called(spool.name, "standard input"):
            yield spool.name


def _vertices(text: str) -> Any:
    import pandas as pd

    try:
        if text.endswith((".parquet", ".pq")):
            return pd.read_parquet(text)
        line = str(pd.read_csv(text, header=None, nrows=1, sep=WHOLE, engine="python").iloc[0, 0])
        cells = re.split(r"[,;\s]+", line.strip())
        if cells[0].lstrip("-").isdecimal() or (len(cells) == 1 and cells[0].lower() not in HEADS):
            return pd.read_csv(text, header=None, sep=r"[,;\s]+", engine="python").iloc[:, :1].set_axis(["id"], axis=1)
        return pd.read_csv(text, sep=next((sign for sign in "\t;" if sign in line), ",")).rename(columns=str)
    except (OSError, ValueError) as error:
        problem, remedy = getattr(error, "strerror", None) or error, "name a list of ids, CSV or Parquet"
        raise FileError(f"the vertices cannot be read: {problem}", path=text, remedy=remedy) from error
