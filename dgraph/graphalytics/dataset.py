"""A data set of LDBC Graphalytics: the three files of a graph, parameters of its algorithms, and reference results.

It is run as the benchmark does: load once, repeat each algorithm, validate every output. T_l is the time to load the
graph into partitions, T_p the time of the algorithm, and T_m (makespan) the time of a whole job, from the call to the
written output. EVPS = (vertices + edges) / T_p.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dgraph.errors import FileError, OptionError
from dgraph.graphalytics import algorithms
from dgraph.graphalytics.verdict import RULES, read_values, validate, write_values
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

    def reference(self, algorithm: str) -> Path | None:
        """The file of the expected values, if there is one."""
        names = (f"{self.name}-{algorithm.upper()}{compression}" for compression in ("", *paths.COMPRESSED))
        return next((self.folder / name for name in names if (self.folder / name).is_file()), None)

    def run(
        self,
        *,
        only: Sequence[str] = (),
        repetitions: int = 1,
        output: Path | None = None,
        how: str = "ldbc",
        client: Any = None,
        **options: Any,
    ) -> Iterator[dict[str, Any]]:
        """Yield a row for each job. The graph is not loaded if the data set has none of the algorithms in `only`."""
        from dgraph.io.graphs import read_edges

        names = [name for name in self.algorithms if not only or name in only]
        if not names:
            return
        begun = time.perf_counter()
        weight = self.properties.get("sssp.weight-property") or "auto"
        graph = read_edges(self._file, weight=weight, client=client)
        _ = graph.partitions
        loaded = time.perf_counter() - begun
        for algorithm in names:
            for repetition in range(repetitions):
                row = {"dataset": self.name, "algorithm": algorithm, "repetition": repetition}
                yield {**row, **self._job(graph, algorithm, output, how, options), "T_l": loaded}

    def _job(
        self, graph: Any, algorithm: str, output: Path | None, how: str, options: dict[str, Any]
    ) -> dict[str, Any]:
        parameters = self.parameters(algorithm)
        begun = time.perf_counter()
        result = algorithms.run(graph, algorithm, parameters, **options)
        processed = time.perf_counter() - begun
        values = algorithms.values_of(algorithm, result.compute())
        if output is not None:
            write_values(values, output / f"{self.name}-{algorithm.upper()}")
        makespan = time.perf_counter() - begun
        reference = self.reference(algorithm)
        row: dict[str, Any] = {"parameters": parameters, "T_p": processed, "T_m": makespan}
        row |= {"vertices": graph.num_vertices, "edges": graph.num_edges, "rounds": result.rounds}
        row["EVPS"] = (graph.num_vertices + graph.num_edges) / processed
        if reference is None:
            return {**row, "valid": None, "problem": "there is no reference"}
        verdict = validate(algorithm, values, read_values(reference, RULES[algorithm] != "epsilon"), how)
        return {**row, "valid": verdict.valid, "problem": verdict.problem}
