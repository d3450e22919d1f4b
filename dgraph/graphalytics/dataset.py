"""A data set of LDBC Graphalytics: the three files of a graph, the parameters of its algorithms, reference results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dgraph.errors import FileError, OptionError
from dgraph.io import paths
from dgraph.io.text.graphalytics import read_properties

PARAMETERS: dict[str, dict[str, Any]] = {  # of each algorithm: what the properties call it, and how it is read
    "bfs": {"source-vertex": int},
    "cdlp": {"max-iterations": int},
    "lcc": {},
    "pr": {"damping-factor": float, "num-iterations": int},
    "sssp": {"source-vertex": int, "weight-property": str},
    "wcc": {},
}


@dataclass(frozen=True)
class Dataset:
    """`folder/name.properties` and what it names."""

    folder: Path
    name: str

    @classmethod
    def all_in(cls, path: str | Path) -> list[Dataset]:
        """The data sets of a folder, or the one whose properties file is named."""
        path = Path(path)
        found = [path] if path.suffix == ".properties" else sorted(path.glob("*.properties"))
        if not found or not all(file.is_file() for file in found):
            raise FileError("there is no .properties file", path=path, remedy="name a folder of Graphalytics data sets")
        return [cls(file.parent, file.stem) for file in found]

    @cached_property
    def properties(self) -> dict[str, str]:
        return read_properties(self._file)

    @property
    def _file(self) -> str:
        return str(self.folder / f"{self.name}.properties")

    @property
    def algorithms(self) -> list[str]:
        """The algorithms that the data set is meant for, in the order of the benchmark; if it names none, those whose
        parameters it has."""
        named = {one.strip().lower() for one in self.properties.get("algorithms", "").split(",")} - {""}
        given = {name for name, needs in PARAMETERS.items() if all(f"{name}.{one}" in self.properties for one in needs)}
        return [name for name in PARAMETERS if name in (named or given)]

    def parameters(self, algorithm: str) -> dict[str, Any]:
        """What the properties say of one algorithm."""
        found = {}
        for name, read in PARAMETERS[algorithm].items():
            text = self.properties.get(f"{algorithm}.{name}")
            if text is None:
                raise OptionError(f"{self.name}.properties has no {algorithm}.{name}, which {algorithm} needs")
            try:
                found[name] = read(text)
            except ValueError as cause:
                problem = f"{algorithm}.{name} = {text!r} is no {'whole number' if read is int else 'number'}"
                raise FileError(problem, path=self._file, remedy="correct this entry") from cause
        return found

    def graph(self, **options: Any) -> Any:
        """The graph, with the weight that SSSP reads."""
        from dgraph.io.graphs import read_edges

        weight = self.properties.get("sssp.weight-property") or None
        return read_edges(self._file, weight=weight, **options)

    def reference(self, algorithm: str) -> Path | None:
        """The file of the expected values, if there is one."""
        for compression in ("", *paths.COMPRESSED):
            path = self.folder / f"{self.name}-{algorithm.upper()}{compression}"
            if path.is_file():
                return path
        return None
