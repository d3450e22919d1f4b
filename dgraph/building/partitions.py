"""The partitions of a graph where they are: Dask futures on the workers, or partitions in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

from dgraph.building.report import PartitionReport
from dgraph.partition.partition import stats
from dgraph.workers import Workers, lost


@dataclass(frozen=True, eq=False)
class Partitions(Sequence):
    """`held[p]` is partition p. `orders` and `columns` say what all of them have."""

    held: list[Any]
    workers: Workers
    orders: tuple[str, ...]
    columns: tuple[str, ...]
    policy: str
    num_vertices: int
    seconds: dict[str, float]

    def __len__(self) -> int:
        return len(self.held)

    @overload
    def __getitem__(self, part: int) -> Any: ...
    @overload
    def __getitem__(self, part: slice) -> list[Any]: ...
    def __getitem__(self, part):
        return self.held[part]

    @cached_property
    def report(self) -> PartitionReport:
        """Sizes, balance and build times."""
        rows = self.workers.bring(self.workers.each(stats, [(one,) for one in self.held]))
        return PartitionReport(rows, self.policy, self.num_vertices, dict(self.seconds), self.workers.spilled())

    def plot(self, path: Any = None) -> Any:
        """A figure of the report; see `PartitionReport.plot`."""
        return self.report.plot(path)

    @property
    def lost(self) -> bool:
        """Whether a partition went away with its worker and its source, and must be built again."""
        return lost(self.held)

    @property
    def all_there(self) -> bool:
        """Whether every partition is on some worker now."""
        if self.workers.client is None:
            return True
        from dgraph.exchange.client import places_of

        return all(places_of(self.workers.client, self.held))

    def __repr__(self) -> str:
        where = "this process" if self.workers.client is None else "the cluster"
        sides = " and ".join({"out": "by source", "incoming": "by destination"}[order] for order in self.orders)
        columns = f" with {', '.join(self.columns)}" if self.columns else ""
        return f"<{len(self)} partition{'s' * (len(self) != 1)} by {self.policy} in {where}: edges {sides}{columns}>"
