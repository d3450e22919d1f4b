"""The cases of a suite: every combination of what it lists, each with the names by which it is told from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from dgraph.bench.suite import AXES, GraphSpec, OperationSpec, Setting, Suite
from dgraph.errors import OptionError

WITHOUT_ENGINE = ("triangles", "lcc", "factorize")  # no vertex programs


@dataclass(frozen=True, eq=False)
class Case:
    """One operation on one graph in one way."""

    operation: OperationSpec
    graph: GraphSpec
    setting: Setting
    engine: str
    policy: str
    device: str
    partitions: int  # 0: as the graph chooses
    workers: int  # 0: this process
    capacities: Any = None

    @property
    def labels(self) -> dict[str, Any]:
        """A value for each axis."""
        named = {"operation": self.operation.name, "graph": self.graph.name, "setting": self.setting.name}
        return {axis: named.get(axis, getattr(self, axis)) for axis in AXES}

    @property
    def options(self) -> dict[str, Any]:
        """What the operation is called with, beside graph and source."""
        return {**self.operation.options, **self.setting.options, "engine": self.engine, "device": self.device}

    @property
    def place(self) -> tuple[Any, ...]:
        """Cases of the same place can run on the same partitions."""
        return self.graph.name, self.policy, self.partitions, self.workers, self.capacities


def cases_of(suite: Suite, only: Mapping[str, tuple[str, ...]] | None = None) -> list[Case]:
    """All of a suite, or those whose label on an axis is among the `only` ones."""
    found = []
    for graph, operation, setting in product(suite.graphs.values(), suite.operations.values(), suite.settings.values()):
        if graph.name not in operation.graphs:
            continue
        axes = {**suite.axes, "capacities": [suite.capacities], **{name: [one] for name, one in setting.case.items()}}
        if operation.operation in WITHOUT_ENGINE:
            axes["engine"] = ["auto"]
        named = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
        found += [Case(operation, graph, setting, **chosen) for chosen in named]
    for axis, wanted in (only or {}).items():
        known = list(dict.fromkeys(str(case.labels[axis]) for case in found))
        for one in wanted:
            if one not in known:
                raise OptionError(f"{suite.name} has no {axis} {one!r}; it has {', '.join(known) or 'none'}")
        found = [case for case in found if not wanted or str(case.labels[axis]) in wanted]
    return found
