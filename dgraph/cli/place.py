"""Where a command runs, and the options that say so: this process, processes that it starts, or a cluster."""

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

from dgraph.cli.options import FILE, WholeNumber
from dgraph.cli.status_line import show_status
from dgraph.errors import OptionError, RunError
from dgraph.phrases import format_count

PLACE = (
    click.option("--workers", type=WholeNumber(1), help="Start so many worker processes on this machine."),
    click.option("--cluster", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler."),
    click.option("--scheduler-file", type=FILE, help="File in which that scheduler has put its address."),
    click.option("--tls-ca-file", type=FILE, help="Certificate of the authority, for tls:// clusters."),
    click.option("--tls-cert", type=FILE, help="Certificate of this client."),
    click.option("--tls-key", type=FILE, help="Private key of this client."),
)


@dataclass(frozen=True)
class Place:
    """Where a command runs: the values of the options in PLACE. None of `workers`, `cluster` and `scheduler_file` is
    this process."""

    workers: int | None
    cluster: str | None
    scheduler_file: str | None
    tls_ca_file: str | None
    tls_cert: str | None
    tls_key: str | None

    @contextmanager
    def client(self) -> Iterator[Any]:
        """A client of the cluster that was asked for, or None for this process. Workers that are started for it end
        with the block; a cluster that was named is left as it is."""
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
            from dgraph.bench.local_cluster import local_cluster

            with ExitStack() as stack:
                with show_status(f"starting {format_count(self.workers, 'worker')}"):
                    client = stack.enter_context(local_cluster(self.workers))
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
            with show_status(f"asking {address}"):
                client = Client(address, set_as_default=False, security=security, timeout=10)
        except (OSError, TimeoutError, ValueError) as error:
            if type(error).__module__ == "ssl":
                files = ", ".join(filter(None, (self.tls_ca_file, self.tls_cert, self.tls_key)))
                raise OptionError(f"these files do not go together: {files} ({error})") from error
            remedy = "check the address, which begins with tls:// where it is secured; `dask scheduler` starts one"
            raise RunError(f"no scheduler answers at {address}: {error} ({remedy})") from error
        with client:
            yield client

    def _address(self) -> str:
        """The address of the scheduler. It is checked here, because Dask waits for a missing file for ever, and lets a
        bad address fail late."""
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
        """Dask's `Security` of the files that were named; None if none was."""
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
    """Whether all files are there that TLS needs, in `security` or in Dask's configuration. It is asked here, because
    Dask would fail late, and say little."""
    from distributed.security import Security

    return (security or Security()).get_connection_args("client").get("ssl_context") is not None


def runs_somewhere(command: Callable) -> Callable:
    """The command with the options in PLACE; it is given these as `place`, a `Place`."""

    @wraps(command)
    def with_place(**given: Any) -> Any:
        return command(place=take_place(given), **given)

    return decorated(with_place, PLACE)


def take_place(given: dict[str, Any]) -> Place:
    """The place that was asked for; its options are taken out of `given`."""
    return Place(**{name_of(option): given.pop(name_of(option)) for option in PLACE})


def decorated(command: Callable, options: tuple[Callable, ...]) -> Callable:
    """A command with options, in the order in which its help lists them."""
    for option in reversed(options):
        command = option(command)
    return command


def name_of(option: Callable) -> str:
    """The name under which a decorator of click gives an option's value to a command."""

    def probe() -> None: ...

    return str(option(probe).__click_params__[0].name)
