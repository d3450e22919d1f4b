"""Where a command runs: in this process, in processes that it starts, or on a cluster."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from dgraph.cli.options import FILE, WholeRange
from dgraph.cli.status_line import show_status
from dgraph.errors import OptionError, RunError
from dgraph.phrases.phrases import format_count

PLACE = (
    click.option("--workers", type=WholeRange(1), help="Number of local worker processes to start."),
    click.option("--cluster", metavar="ADDRESS", help="Address of the Dask scheduler of a cluster to run on."),
    click.option("--scheduler-file", type=FILE, help="File to which the scheduler wrote its address."),
    click.option("--tls-ca-file", type=FILE, help="CA certificate, for tls:// clusters."),
    click.option("--tls-cert", type=FILE, help="Client certificate."),
    click.option("--tls-key", type=FILE, help="Client private key."),
)


@dataclass(frozen=True)
class Place:
    """The values of the options in PLACE. Without `workers`, `cluster` and `scheduler_file`, it means this process."""

    workers: int | None
    cluster: str | None
    scheduler_file: str | None
    tls_ca_file: str | None
    tls_cert: str | None
    tls_key: str | None

    @contextmanager
    def client(self, memory: int | None = None) -> Iterator[Any]:
        """A client of the cluster, or None for this process.

        Workers started here may use `memory` bytes each and end with the block; a cluster given by its address keeps
        running.
        """
        chosen = [self.workers, self.cluster, self.scheduler_file]
        if sum(one is not None for one in chosen) > 1:
            raise OptionError("--workers, --cluster and --scheduler-file are mutually exclusive")
        if not any(chosen):
            yield None
            return
        security = self._security()
        if self.workers:
            if security is not None:
                raise OptionError("--tls-ca-file needs --cluster: local workers do not use TLS")
            from dgraph.bench.local_cluster import local_cluster

            with ExitStack() as stack:
                with show_status(f"starting {format_count(self.workers, 'worker')}"):
                    limit = {} if memory is None else {"memory_limit": memory}
                    client = stack.enter_context(local_cluster(self.workers, **limit))
                yield client
            return
        from distributed import Client

        address = self._address()
        if security is not None and "://" not in address:
            address = f"tls://{address}"
        if security is not None and not address.startswith("tls://"):
            raise OptionError(f"{address} does not use TLS, but --tls-ca-file is given; write tls://")
        if address.startswith("tls://") and not _is_secure(security):
            files = "--tls-ca-file, --tls-cert and --tls-key"
            raise OptionError(f"{address} needs {files}, or the same settings in Dask's configuration")
        try:
            with show_status(f"connecting to {address}"):
                client = Client(address, set_as_default=False, security=security, timeout=10)
        except (OSError, TimeoutError, ValueError) as error:
            if type(error).__module__ == "ssl":
                files = ", ".join(filter(None, (self.tls_ca_file, self.tls_cert, self.tls_key)))
                raise OptionError(f"these TLS files do not match: {files} ({error})") from error
            remedy = "check the address, which starts with tls:// if the cluster uses TLS; `dask scheduler` starts one"
            raise RunError(f"no scheduler answers at {address}: {error} ({remedy})") from error
        with client:
            yield client

    def _address(self) -> str:
        """The address of the scheduler.

        It is checked here because Dask waits forever for a missing file, and reports a malformed address late.
        """
        address = self.cluster
        if self.scheduler_file is not None:
            try:
                address = str(json.loads(Path(self.scheduler_file).read_text())["address"])
            except (OSError, ValueError, KeyError, TypeError) as error:
                remedy = "it must be a file written by `dask scheduler --scheduler-file`"
                problem = f"{self.scheduler_file} does not contain the address of a scheduler: {error}"
                raise OptionError(f"{problem} ({remedy})") from error
        assert address is not None
        if not re.fullmatch(r"((?!https?:)\w+://)?[^/\s]+:\d+/?", address):
            raise OptionError(f"{address!r} is not the address of a scheduler, such as tcp://10.0.0.1:8786")
        return address

    def _security(self) -> Any:
        """Dask's `Security` for the TLS files, or None if there are none."""
        if not self.tls_ca_file:
            if self.tls_cert or self.tls_key:
                raise OptionError("--tls-cert and --tls-key need --tls-ca-file")
            return None
        from distributed.security import Security

        for path in (self.tls_ca_file, self.tls_cert, self.tls_key):
            if path is not None and not Path(path).is_file():
                raise OptionError(f"{path}: there is no such TLS file")
        files = {"tls_ca_file": self.tls_ca_file, "tls_client_cert": self.tls_cert, "tls_client_key": self.tls_key}
        return Security(**files, require_encryption=True)


def _is_secure(security: Any) -> bool:
    """Whether `security` or Dask's configuration has all files that TLS needs. Dask itself would fail late, with an
    uninformative error."""
    from distributed.security import Security

    return (security or Security()).get_connection_args("client").get("ssl_context") is not None


def place_options(command: Callable) -> Callable:
    """Add the options in PLACE to a command, which receives them as `place`."""

    @wraps(command)
    def with_place(**given: Any) -> Any:
        return command(place=pop_place(given), **given)

    return add_options(with_place, PLACE)


def pop_place(given: dict[str, Any]) -> Place:
    """Remove the options in PLACE from `given`, and return them as a `Place`."""
    return Place(**{name: given.pop(name) for name in map(option_name, PLACE)})


def add_options(command: Callable, options: tuple[Callable, ...]) -> Callable:
    """Add options to a command, in the order in which its help lists them."""
    for option in reversed(options):
        command = option(command)
    return command


def option_name(option: Callable) -> str:
    """The parameter of a command that receives the value of an option, which is a decorator of click."""

    def probe() -> None: ...

    return str(option(probe).__click_params__[0].name)
