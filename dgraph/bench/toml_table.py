"""A TOML table that checks its values as they are read. Errors name the file, the key and the remedy."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from dgraph.arguments import AUTO
from dgraph.devices.probe import CUDA
from dgraph.errors import FileError, OptionError
from dgraph.keywords import ENGINE_VALUES, HOW
from dgraph.options import OWN_PROCESS, BlockDescent, BulkAsync, Cuda, Daemons, Gas, Optimizations
from dgraph.phrases.suggestions import suggestion
from dgraph.runs.plan import DESCENT

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
        """The values of a list. A single value needs no brackets."""
        self.taken.add(key)
        value = self.content.get(key, default)
        values = value if isinstance(value, list) else [value]
        if not values:
            self.refuse(key, "is empty", "give at least one")
        for one in values:
            TomlTable(self.path, self.where, {key: one}).take(key, kind, among=among, least=0 if kind is int else None)
        return values

    def table(self, key: str) -> TomlTable:
        """A table nested in this one, empty if it is missing."""
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
        """The remaining keys as options of a function. The string "None" means None, which TOML lacks. A table for
        `daemons` holds the seconds of a stand-in for missing hardware (`StandIn`); a list of such tables has one per
        worker."""
        options = {key: None if value == "None" else value for key, value in self.rest().items()}
        daemons = options.get("daemons")
        if isinstance(daemons, dict):
            from dgraph.testing.stand_in import StandIn

            try:
                options["daemons"] = [StandIn(**daemons)]
            except TypeError as unknown:
                remedy = "give seconds to download, compute and upload an edge, and per call"
                self.refuse("daemons", str(unknown), remedy)
        elif isinstance(daemons, list) and all(isinstance(one, dict) for one in daemons):
            tables = [TomlTable(self.path, self.where, {"daemons": one}).options() for one in daemons]
            options["daemons"] = {worker: one["daemons"] for worker, one in enumerate(tables)}
        return options

    def refuse_others(self, known: Iterable[str]) -> None:
        """Reject keys that are neither read nor `known`, because they are probably misspelt."""
        known = [*known, *self.taken]
        for key in self.content:
            if key not in known:
                self.refuse(key, "unknown key", suggestion(key, known) or f"keys are {', '.join(known)}")

    def check_options(self, operation: str, options: Mapping[str, Any]) -> None:
        """Reject options that neither the operation nor a value of its engine, device or daemons has, and values that
        no run accepts."""
        named = {"graph", "engine", "device", "optimizations"}
        known = [*parameters_of(operation), *HOW, *FIELDS]
        TomlTable(self.path, self.where, options).refuse_others(name for name in known if name not in named)
        for key, value in options.items():
            fit: dict[str, Any] = {"daemons": OWN_PROCESS} if key in ("block", "cache") else {}
            fit |= {"device": CUDA} if key == "memory" else {}
            fit |= {"engine": DESCENT} if key in [field.name for field in fields(BlockDescent)] else {}
            fit |= {"engine": "bulk_async"} if key == "local_rounds" else {}
            try:
                group_options(operation, {**fit, key: value}, self.refuse)
            except OptionError as refused:
                self.refuse(key, str(refused))


ENGINE_FIELDS = {field.name: value for value in (Gas, BulkAsync, BlockDescent) for field in fields(value)}
SWITCH_FIELDS = [field.name for field in fields(Optimizations)]
FIELDS = (*ENGINE_FIELDS, *SWITCH_FIELDS, "memory", "block", "cache")
"""The keys of a suite that are fields of an option value."""


def group_options(
    operation: str, options: Mapping[str, Any], refuse: Callable[[str, str, str], NoReturn]
) -> dict[str, Any]:
    """The options for the call of an operation: flat keys of a suite, such as `block_size`, become fields of a value,
    such as `BlockDescent(block_size=...)`. If a key needs an engine, device or daemons that are not among the options,
    `refuse` raises an error from the key, the problem and the remedy."""
    grouped = dict(options)
    own = parameters_of(operation)

    def taken(names: Iterable[str]) -> dict[str, Any]:
        return {name: grouped.pop(name) for name in names if name in grouped and name not in own}

    switches = taken(SWITCH_FIELDS)
    of_engine = taken(ENGINE_FIELDS) | ({"optimizations": Optimizations(**switches)} if switches else {})
    if of_engine:
        engine = options.get("engine", AUTO)
        made: Any = ENGINE_VALUES.get("gas" if engine == AUTO else engine)
        known = [field.name for field in fields(made)] if made else []
        for name in of_engine:
            if name not in known:
                key = next(iter(switches)) if name == "optimizations" else name
                other = DESCENT if name in [field.name for field in fields(BlockDescent)] else "gas"
                refuse(key, f'needs engine = "{other}", not "{engine}"', f'add engine = "{other}"')
        try:
            grouped["engine"] = made(**of_engine)
        except OptionError as refused:  # its text starts with the field
            refuse(str(refused).partition("=")[0], str(refused), "")
    device, daemons = options.get("device", AUTO), options.get("daemons")
    if of_device := taken(["memory", "block"] if device == CUDA and daemons is None else ["memory"]):
        if device != CUDA:
            refuse("memory", f'needs device = "{CUDA}", not "{device}"', f'add device = "{CUDA}"')
        grouped["device"] = Cuda(**of_device)
    if of_daemons := taken(["block", "cache"]):
        if daemons is None:
            refuse(next(iter(of_daemons)), "needs daemons", f'add daemons = "{OWN_PROCESS}"')
        grouped["daemons"] = Daemons(daemons, **of_daemons)
    return grouped


def parameters_of(function: str) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function of `dgraph`, by name."""
    import dgraph as dg

    return inspect.signature(getattr(dg, function)).parameters
