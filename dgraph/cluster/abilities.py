"""The capabilities of workers (or this process): GPUs, the packages installed for them, and speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from dgraph.cluster.waits import ask_all, run_coroutine
from dgraph.devices import probe
from dgraph.errors import RunError

if TYPE_CHECKING:
    from dgraph.cluster.workers import Workers


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of some workers. Each worker is asked once, and its answers are kept as long as the client
    lives."""

    workers: Workers

    @property
    def with_cuda(self) -> list[str]:
        """The workers (or this process) that can run kernels on a GPU."""
        return [where for where, missing in self.lacking(probe.KERNEL_PACKAGES).items() if not missing]

    def lacking(self, packages: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """For each worker (or this process): which of a GPU and some packages are missing."""
        if self.workers.client is None:
            return {"this process": probe.missing_requirements(packages)}
        known, addresses = self.answers(tuple(packages)), self.workers.addresses_known(fresh=False)
        if not known.keys() >= set(addresses):  # ask all, since one in `addresses` may have left
            known |= ask_all(self.workers.client, probe.missing_requirements, dict(packages))
        return {address: known[address] for address in addresses if address in known}  # a new worker may be missing

    def that_have(self, what: str, packages: Mapping[str, str], remedy: str) -> list[str | None]:
        """The workers with a GPU and some packages (None stands for this process). Raises an error if there are
        none."""
        missing_at = self.lacking(packages)
        if all(missing_at.values()):
            probe.require(what, missing_at, remedy)
        return [None if self.workers.client is None else where for where, missing in missing_at.items() if not missing]

    def answers(self, what: Any) -> dict[str, Any]:
        """The workers' answers to a question so far, kept as long as the client lives."""
        return _answers.setdefault(self.workers.client, {}).setdefault(what, {})


def require_dgraph(client: Any) -> None:
    """Raise a RunError if a worker cannot import dgraph. Dask loses such a worker at its first task, and does not say
    why."""
    if client in _complete:
        return
    answers = dict(run_coroutine(client, client.run(find_spec, "dgraph", on_error="return", asynchronous=True)))
    if lacking := [one for one, found in answers.items() if found is None or isinstance(found, ImportError)]:
        places = f"worker{'s' * (len(lacking) > 1)} {', '.join(sorted(lacking))}"
        raise RunError(f"dgraph is not installed on {places}: install dask-dgraph in the environment of every worker")
    if answers:
        _complete.add(client)


_complete: WeakSet[Any] = WeakSet()  # clients whose workers have dgraph
_answers: WeakKeyDictionary[Any, dict[Any, dict[str, Any]]] = WeakKeyDictionary()
