"""The cases of a suite: every combination of what it lists, each with the names by which it is told from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pandas as pd

from dgraph.bench.suite import AXES, GraphSpec, OperationSpec, Setting, Suite
from dgraph.errors import OptionError

COUNTS = ("partitions", "workers")  # axes whose values say nothing alone
WITHOUT_ENGINE = ("triangles", "lcc", "factorize")  # no vertex programs


@dataclass(frozen=True, eq=False)
class Case:
    """One operation on one graph in one way: an element of the product of what the suite lists."""

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
        """The value on each axis, by which a case is told from the others in records, tables and plots."""
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
    """All cases of a suite, or those whose labels `only` allows: {axis: labels}. A label that no case has is
    refused."""
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


def rows_of(rows: pd.DataFrame, where: Mapping[str, list[Any]]) -> pd.DataFrame:
    """Those rows whose case has one of the values in `where` on each of its axes."""
    for axis, values in where.items():
        rows = rows[rows[axis].isin(values)]
    return rows


def names_of(rows: pd.DataFrame, within: Sequence[str], by: str) -> pd.Series:
    """What the case of each row is called in a plot, among those of the same values `within`: by `by`, and by the other
    axes that tell it from others."""
    keys = [by]
    for axis in [one for one in AXES if one in rows and one not in (*within, by)]:
        if len(rows[[*within, *keys, axis]].drop_duplicates()) > len(rows[[*within, *keys]].drop_duplicates()):
            keys.append(axis)
    keys = [key for key in keys if rows[key].nunique() > 1] or [by]
    words = [rows[key].map(lambda one, key=key: f"{key} {one}" if key in COUNTS else str(one)) for key in keys]
    return words[0].str.cat(words[1:], sep=", ")
