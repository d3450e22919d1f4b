"""A table of a TOML file whose values are checked as they are taken: errors name the file, the key and the remedy."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from dgraph.errors import FileError
from dgraph.phrases import nearest

NEEDED = object()  # the default of a key that must be there
WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", dict: "a table"}


class TomlTable:
    """A table at the place `where` of its file, as in `operations.bfs`. Values are asked for by key; `rest` are those
    that nobody has asked for."""

    def __init__(self, path: Path, where: str, content: Mapping[str, Any]):
        self.path, self.where, self.content = path, where, content
        self.name = where.rpartition(".")[2]
        self.taken: set[str] = set()

    def refuse(self, key: str, problem: str, remedy: str = "") -> NoReturn:
        """Raise an error that names the file, this table, the key, and the remedy."""
        raise FileError(f"[{self.where}] {key}: {problem}".replace("[] ", ""), path=self.path, remedy=remedy or None)

    def take(
        self, key: str, kind: type, default: Any = NEEDED, *, among: Sequence[Any] = (), least: int | None = None
    ) -> Any:
        """The value of a key, of this kind; without `default` the key must be there. `among` are the values allowed,
        `least` is the smallest."""
        self.taken.add(key)
        if key not in self.content:
            if default is NEEDED:
                self.refuse(key, "is missing", f"add {key} = {WORDS[kind]}")
            if not among or default in among:
                return default
        value = self.content.get(key, default)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            self.refuse(key, f"{value!r} is not {WORDS[kind]}")
        if among and value not in among:
            self.refuse(key, f"{value!r} is not known", f"choose from {', '.join(str(one) for one in among if one)}")
        if isinstance(value, int | float) and least is not None and value < least:
            self.refuse(key, f"{value!r} is too small", f"{least} or more")
        return value

    def listed(self, key: str, kind: type, default: list[Any], *, among: Sequence[Any] = ()) -> list[Any]:
        """The values of a list; a single one may stand without brackets."""
        self.taken.add(key)
        value = self.content.get(key, default)
        values = value if isinstance(value, list) else [value]
        if not values:
            self.refuse(key, "is empty", "give at least one")
        for one in values:
            TomlTable(self.path, self.where, {key: one}).take(key, kind, among=among, least=0 if kind is int else None)
        return values

    def table(self, key: str) -> TomlTable:
        """A table in this one; empty if it is not there."""
        return TomlTable(self.path, f"{self.where}.{key}".strip("."), self.take(key, dict, {}))

    def tables(self, key: str, *, needed: bool = False) -> list[TomlTable]:
        """The tables in a table: [graphs.a], [graphs.b]."""
        outer = self.table(key)
        if needed and not outer.content:
            self.refuse(key, "there are none", f"add [{key}.NAME]")
        return [outer.table(name) for name in outer.content]

    def array(self, key: str) -> list[TomlTable]:
        """The tables of an array: [[targets]]."""
        self.taken.add(key)
        found = self.content.get(key, [])
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            self.refuse(key, "is no list of tables", f"write [[{key}]]")
        return [TomlTable(self.path, f"{key}, {i + 1}", one) for i, one in enumerate(found)]

    def rest(self) -> dict[str, Any]:
        """The keys that nobody has asked for, and their values."""
        return {key: value for key, value in self.content.items() if key not in self.taken}

    def options(self) -> dict[str, Any]:
        """The same as options of a function. The word "None" stands for None, which TOML lacks. A table for `daemons`
        has the seconds of a stand-in for hardware that is not here (`StandIn`); a list of such tables has one a
        worker."""
        found = {key: None if value == "None" else value for key, value in self.rest().items()}
        daemons = found.get("daemons")
        if isinstance(daemons, dict):
            from dgraph.testing.stand_in import StandIn

            try:
                found["daemons"] = [StandIn(**daemons)]
            except TypeError as unknown:
                self.refuse("daemons", str(unknown), "seconds to download, compute and upload an edge, and of a call")
        elif isinstance(daemons, list) and all(isinstance(one, dict) for one in daemons):
            tables = [TomlTable(self.path, self.where, {"daemons": one}).options() for one in daemons]
            found["daemons"] = {worker: one["daemons"] for worker, one in enumerate(tables)}
        return found

    def refuse_others(self, known: Iterable[str]) -> None:
        """Refuse keys that nobody has asked for and that are not among the `known`: they are misspelt."""
        known = [*known, *self.taken]
        for key in self.content:
            if key not in known:
                near = nearest(key, known)
                self.refuse(key, "is no key", f"did you mean {near}?" if near else f"keys are {', '.join(known)}")

    def check_options(self, operation: str, options: Mapping[str, Any]) -> None:
        """Refuse options that neither the operation nor `dgraph.run` takes."""
        import dgraph as dg

        named = {"graph", "program", "engine", "device", "options"}
        taken = [inspect.signature(function).parameters for function in (getattr(dg, operation), dg.run)]
        known = [name for parameters in taken for name in parameters if name not in named]
        TomlTable(self.path, self.where, options).refuse_others(known)
