"""A data set of LDBC Graphalytics: the three files of a graph, parameters of its algorithms, and reference results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dgraph.errors import FileError, OptionError
from dgraph.io import paths
from dgraph.io.text.graphalytics import read_properties

PARAMETERS: dict[str, dict[str, Any]] = {  # algorithm -> the names of its properties, and their types
    "bfs": {"source-vertex": int},
    "cdlp": {"max-iterations": int},
    "lcc": {},
    "pr": {"damping-factor": float, "num-iterations": int},
    "sssp": {"source-vertex": int, "weight-property": str},
    "wcc": {},
}


@dataclass(frozen=True)
class Dataset:
    """A data set: `folder/name.properties` and the files that it lists."""

    folder: Path
    name: str

    @classmethod
    def all_in(cls, path: str | Path) -> list[Dataset]:
        """The data sets in a folder, or the one whose properties file is given."""
        path = Path(path)
        files = [path] if path.suffix == ".properties" else sorted(path.glob("*.properties"))
        if not files or not all(file.is_file() for file in files):
            raise FileError("there is no .properties file", path=path, remedy="give a folder of Graphalytics data sets")
        return [cls(file.parent, file.stem) for file in files]

    @cached_property
    def properties(self) -> dict[str, str]:
        return read_properties(self._file)

    @property
    def _file(self) -> str:
        return str(self.folder / f"{self.name}.properties")

    @property
    def algorithms(self) -> list[str]:
        """The algorithms that the data set lists, or those for which it has parameters, in the benchmark's order."""
        listed = {one.strip().lower() for one in self.properties.get("algorithms", "").split(",")} - {""}
        given = {name for name, needs in PARAMETERS.items() if all(f"{name}.{one}" in self.properties for one in needs)}
        return [name for name in PARAMETERS if name in (listed or given)]

    def parameters(self, algorithm: str) -> dict[str, Any]:
        """The parameters of an algorithm."""
        values = {}
        for name, read in PARAMETERS[algorithm].items():
            text = self.properties.get(f"{algorithm}.{name}")
            if text is None:
                raise OptionError(f"{self.name}.properties has no {algorithm}.{name}, which {algorithm} needs")
            try:
                values[name] = read(text)
            except ValueError as cause:
                problem = f"{algorithm}.{name} = {text!r} is not {'an integer' if read is int else 'a number'}"
                raise FileError(problem, path=self._file, remedy="correct this entry") from cause
        return values

    def graph(self, **options: Any) -> Any:
        """The graph, with the weights that SSSP reads."""
        from dgraph.io.graphs import read_edges

        weight = self.properties.get("sssp.weight-property") or "auto"
        return read_edges(self._file, weight=weight, **options)

    def reference(self, algorithm: str) -> Path | None:
        """The file of the expected values, if there is one."""
        for compression in ("", *paths.COMPRESSED):
            path = self.folder / f"{self.name}-{algorithm.upper()}{compression}"
            if path.is_file():
                return path
        return None
