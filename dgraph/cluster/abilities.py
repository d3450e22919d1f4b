"""What a worker can do, or this process: whether it has a GPU, what it reads and computes there, and how fast it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dgraph.devices import probe
from dgraph.errors import LostError

if TYPE_CHECKING:
    from dgraph.cluster.workers import Workers


@dataclass(frozen=True)
class Capabilities:
    """Each worker is asked once in its life. What it said is kept as long as its client is."""

    workers: Workers

    @property
    def with_cuda(self) -> list[str]:
        """The workers (or this process) that can run kernels on a GPU."""
        return [where for where, missing in self.lacking(probe.KERNELS).items() if not missing]

    def lacking(self, packages: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """For each worker (or this process) what it lacks of a GPU and some packages: it finds that out itself."""
        if self.workers.client is None:
            return {"this process": probe.missing_requirements(packages)}
        return self._asked(tuple(packages), probe.missing_requirements, dict(packages))

    def workers_with(self, what: str, packages: Mapping[str, str], remedy: str) -> list[str | None]:
        """The workers with a GPU and some packages (None: this process). If there are none, an error says why."""
        found = self.lacking(packages)
        if all(found.values()):
            probe.need(what, found, remedy)
        return [None if self.workers.client is None else where for where, missing in found.items() if not missing]

    def measured(self, *, anew: bool = False) -> dict[str, float]:
        """Edges a second of each worker; measured if some worker has not been, or if `anew`."""
        known, addresses = self._answers("edges a second"), self.workers.addresses
        if anew or not known.keys() >= set(addresses):
            from dgraph.estimates.calibration import capacities

            known |= capacities(client=self.workers.client)
        if gone := [address for address in addresses if address not in known]:
            raise LostError(f"{', '.join(gone)} left while the speed of workers was measured")
        return {address: known[address] for address in addresses}

    def _asked(self, what: Any, question: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """What each worker answers to a question; a new one perhaps a moment later."""
        known, addresses = self._answers(what), self.workers.addresses_known(fresh=False)
        if not known.keys() >= set(addresses):  # all are asked: one of these may have left, and would be called in vain
            known |= self.workers.client.run(question, *arguments, on_error="ignore")
        return {address: known[address] for address in addresses if address in known}

    def _answers(self, what: Any) -> dict[str, Any]:
        return _answers.setdefault(self.workers.client, {}).setdefault(what, {})


_answers: WeakKeyDictionary[Any, dict[Any, dict[str, Any]]] = WeakKeyDictionary()
