"""The cases of a suite: every combination of its lists, each with labels that identify it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NoReturn

import pandas as pd

from dgraph.bench.suite import AXES, GraphSpec, OperationSpec, Setting, Suite
from dgraph.bench.toml_table import group_options
from dgraph.errors import OptionError

COUNTS = ("partitions", "workers")  # axes whose values are shown with the name of the axis
WITHOUT_ENGINE = ("triangles", "lcc", "factorize")  # operations that are not vertex programs


@dataclass(frozen=True, eq=False)
class Case:
    """One operation on one graph with one choice of options: an element of the product of the suite's lists."""

    operation: OperationSpec
    graph: GraphSpec
    setting: Setting
    engine: str
    policy: str
    device: str
    partitions: int  # 0 lets the graph choose
    workers: int  # 0 means this process
    capacities: Any = None

    @property
    def labels(self) -> dict[str, Any]:
        """The value on each axis, which identifies the case in records, tables and plots."""
        named = {"operation": self.operation.name, "graph": self.graph.name, "setting": self.setting.name}
        return {axis: named.get(axis, getattr(self, axis)) for axis in AXES}

    @cached_property
    def options(self) -> dict[str, Any]:
        """The options of the call, apart from graph and source."""
        flat = {**self.operation.options, **self.setting.options, "engine": self.engine, "device": self.device}
        return group_options(self.operation.operation, flat, self._refuse)

    def _refuse(self, key: str, problem: str, remedy: str) -> NoReturn:
        """Raise an error that names the table with the key."""
        (self.setting if key in self.setting.options else self.operation).table.refuse(key, problem, remedy)

    @property
    def place(self) -> tuple[Any, ...]:
        """Cases with the same place can share partitions."""
        return self.graph.name, self.policy, self.partitions, self.workers, self.capacities


def cases_of(suite: Suite, only: Mapping[str, tuple[str, ...]] | None = None) -> list[Case]:
    """All cases of a suite, or those whose labels `only` allows: {axis: labels}. A label that no case has raises an
    error."""
    cases = []
    for graph, operation, setting in product(suite.graphs.values(), suite.operations.values(), suite.settings.values()):
        if graph.name not in operation.graphs:
            continue
        axes = {**suite.axes, "capacities": [suite.capacities], **{name: [one] for name, one in setting.case.items()}}
        if operation.operation in WITHOUT_ENGINE:
            axes["engine"] = ["auto"]
        choices = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
        cases += [Case(operation, graph, setting, **choice) for choice in choices]
    for axis, labels in (only or {}).items():
        known = list(dict.fromkeys(str(case.labels[axis]) for case in cases))
        for label in labels:
            if label not in known:
                raise OptionError(f"{suite.name} has no {axis} {label!r}; it has {', '.join(known) or 'none'}")
        cases = [case for case in cases if not labels or str(case.labels[axis]) in labels]
    for case in cases:
        _ = case.options  # raises an error for keys that contradict the engine, device or daemons, before anything runs
    return cases


def rows_of(rows: pd.DataFrame, where: Mapping[str, list[Any]]) -> pd.DataFrame:
    """The rows whose case has one of the values in `where` on each of its axes."""
    for axis, values in where.items():
        rows = rows[rows[axis].isin(values)]
    return rows


def names_of(rows: pd.DataFrame, within: Sequence[str], by: str) -> pd.Series:
    """The name of each row's case in a plot, unique among cases with the same values `within`: made from `by` and from
    other axes on which the cases differ."""
    keys = [by]
    for axis in [one for one in AXES if one in rows and one not in (*within, by)]:
        if len(rows[[*within, *keys, axis]].drop_duplicates()) > len(rows[[*within, *keys]].drop_duplicates()):
            keys.append(axis)
    keys = [key for key in keys if rows[key].nunique() > 1] or [by]
    words = [rows[key].map(lambda one, key=key: f"{key} {one}" if key in COUNTS else str(one)) for key in keys]
    return words[0].str.cat(words[1:], sep=", ")
