"""A TOML table that checks its values as they are read: errors name the file, the key and the remedy."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from dgraph.agents.daemon_settings import OWN_PROCESS, kinds_of
from dgraph.arguments import AUTO
from dgraph.devices.probe import CUDA
from dgraph.errors import FileError, OptionError
from dgraph.phrases.suggestions import suggestion
from dgraph.plan import DESCENT
from dgraph.runs.option_values import BlockDescent, Daemons, Gpu, Optimisations

NEEDED = object()  # the default of a required key
WORDS = {str: "a string", int: "an integer", float: "a number", bool: "true or false", dict: "a table"}


class TomlTable:
    """A table at `where` in its file, such as `operations.bfs`. Values are read by key; `rest` returns those not read
    yet."""

    def __init__(self, path: Path, where: str, content: Mapping[str, Any]):
        self.path, self.where, self.content = path, where, content
        self.name = where.rpartition(".")[2]
        self.taken: set[str] = set()

    def refuse(self, key: str, problem: str, remedy: str = "") -> NoReturn:
        """Raise an error that names the file, the table, the key and the remedy."""
        raise FileError(f"[{self.where}] {key}: {problem}".replace("[] ", ""), path=self.path, remedy=remedy or None)

    def take(
        self, key: str, kind: type, default: Any = NEEDED, *, among: Sequence[Any] = (), least: int | None = None
    ) -> Any:
        """The value of a key, which must be of this kind; without `default` the key is required. `among` are the
        allowed values, and `least` is the smallest."""
        self.taken.add(key)
        if key not in self.content:
            if default is NEEDED:
                self.refuse(key, "is missing", f"add it: {WORDS[kind]}")
            if not among or default in among:
                return default
        value = self.content.get(key, default)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            self.refuse(key, f"expected {WORDS[kind]}, got {value!r}")
        if among and value not in among:
            self.refuse(key, f"{value!r} is not known", f"choose from {', '.join(str(one) for one in among if one)}")
        if isinstance(value, int | float) and least is not None and value < least:
            self.refuse(key, f"{value!r} must be >= {least}")
        return value

    def listed(self, key: str, kind: type, default: list[Any], *, among: Sequence[Any] = ()) -> list[Any]:
        """The values of a list; a single value needs no brackets."""
        self.taken.add(key)
        value = self.content.get(key, default)
        values = value if isinstance(value, list) else [value]
        if not values:
            self.refuse(key, "is empty", "give at least one")
        for one in values:
            TomlTable(self.path, self.where, {key: one}).take(key, kind, among=among, least=0 if kind is int else None)
        return values

    def table(self, key: str) -> TomlTable:
        """A table in this one; empty if it is missing."""
        return TomlTable(self.path, f"{self.where}.{key}".strip("."), self.take(key, dict, {}))

    def tables(self, key: str, *, needed: bool = False) -> list[TomlTable]:
        """The tables in a table: [graphs.a], [graphs.b]."""
        outer = self.table(key)
        if needed and not outer.content:
            self.refuse(key, "is missing", f"add [{key}.NAME]")
        return [outer.table(name) for name in outer.content]

    def array(self, key: str) -> list[TomlTable]:
        """The tables of an array: [[targets]]."""
        self.taken.add(key)
        tables = self.content.get(key, [])
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            self.refuse(key, "must be an array of tables", f"write [[{key}]]")
        return [TomlTable(self.path, f"{key}, {i}", one) for i, one in enumerate(tables, 1)]

    def rest(self) -> dict[str, Any]:
        """The keys that have not been read, and their values."""
        return {key: value for key, value in self.content.items() if key not in self.taken}

    def options(self) -> dict[str, Any]:
        """The rest as options of a function. The string "None" means None, which TOML lacks. A table for `daemons`
        holds the seconds of a stand-in for missing hardware (`StandIn`); a list of such tables has one per worker."""
        options = {key: None if value == "None" else value for key, value in self.rest().items()}
        daemons = options.get("daemons")
        if isinstance(daemons, dict):
            from dgraph.testing.stand_in import StandIn

            try:
                options["daemons"] = [StandIn(**daemons)]
            except TypeError as unknown:
                self.refuse(
                    "daemons", str(unknown), "give seconds to download, compute and upload an edge, and per call"
                )
        elif isinstance(daemons, list) and all(isinstance(one, dict) for one in daemons):
            tables = [TomlTable(self.path, self.where, {"daemons": one}).options() for one in daemons]
            options["daemons"] = {worker: one["daemons"] for worker, one in enumerate(tables)}
        return options

    def refuse_others(self, known: Iterable[str]) -> None:
        """Refuse keys that are neither read nor `known`; they are probably misspelt."""
        known = [*known, *self.taken]
        for key in self.content:
            if key not in known:
                self.refuse(key, "unknown key", suggestion(key, known) or f"keys are {', '.join(known)}")

    def check_options(self, operation: str, options: Mapping[str, Any]) -> None:
        """Refuse options that neither the operation nor `dgraph.run` has, and values that no run accepts."""
        named = {"graph", "program", "engine", "device", "optimisations", "options"}
        known = [*parameters_of(operation), *parameters_of("run"), *FIELDS]
        TomlTable(self.path, self.where, options).refuse_others(name for name in known if name not in named)
        anything = {"engine": DESCENT, "device": CUDA, "daemons": OWN_PROCESS}
        for key, value in options.items():
            try:
                group_options(operation, {**anything, key: value}, self.refuse)
            except OptionError as refused:
                self.refuse(key, str(refused))


FIELDS = ("vertex_cache", *(field.name for value in (BlockDescent, Gpu, Optimisations) for field in fields(value)))
"""The keys of a suite that are fields of an option value of `dgraph.run`."""


def group_options(
    operation: str, options: Mapping[str, Any], refuse: Callable[[str, str, str], NoReturn]
) -> dict[str, Any]:
    """The options for the call of an operation: flat keys of a suite, such as `block_size`, become fields of a value,
    such as `BlockDescent(block_size=...)`. If a key needs an engine, device or daemons that are not among the options,
    `refuse` raises an error from the key, the problem and the remedy."""
    grouped = dict(options)
    own = parameters_of(operation)  # `factorize` has its own block_size
    engine, device, daemons = (options.get(name, AUTO) for name in ("engine", "device", "daemons"))

    def fields_of(value: type) -> dict[str, Any]:
        names = [field.name for field in fields(value)]
        return {name: grouped.pop(name) for name in names if name in grouped and name not in own}

    if blocks := fields_of(BlockDescent):
        if engine != DESCENT:
            refuse(next(iter(blocks)), f'needs engine = "{DESCENT}", not "{engine}"', f'add engine = "{DESCENT}"')
        grouped["engine"] = BlockDescent(**blocks)
    if memory := fields_of(Gpu):
        if device != CUDA:
            refuse(next(iter(memory)), f'needs device = "{CUDA}", not "{device}"', f'add device = "{CUDA}"')
        grouped["device"] = Gpu(**memory)
    if "vertex_cache" in grouped:
        if not kinds_of(daemons):
            refuse("vertex_cache", "needs daemons", f'add daemons = "{OWN_PROCESS}"')
        cache, block = grouped.pop("vertex_cache"), grouped.pop("pipeline_block", AUTO)
        grouped["daemons"] = Daemons(daemons, block=block, cache=cache)
    if chosen := fields_of(Optimisations):
        grouped["optimisations"] = Optimisations(**chosen)
    return grouped


def parameters_of(function: str) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function of `dgraph`, by name."""
    import dgraph as dg

    return inspect.signature(getattr(dg, function)).parameters
