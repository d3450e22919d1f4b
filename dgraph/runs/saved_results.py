"""Results that are saved together with their graph, and opened with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.building.saved_graph import SavedGraph
from dgraph.errors import ColumnError, OptionError
from dgraph.partition import store
from dgraph.partition.manifest import is_count, is_flag, is_number_type, is_text, list_of, require
from dgraph.runs.execution import recoverable_result
from dgraph.runs.operation_call import OperationCall
from dgraph.runs.result import RunResult
from dgraph.runs.result_column import has_vertices_of
from dgraph.runs.worker_results import VertexValues, WorkerResult

SHAPE = {
    **dict.fromkeys(("columns", "vertex_columns", "missing"), list_of(is_text)),
    "dtypes": list_of(is_number_type),
    "widths": list_of(lambda value: value is None or is_count(value)),
    "parts": list_of(is_count),
    "rounds": is_count,
    "whole": is_flag,
    "totals": lambda value: isinstance(value, dict),
    "rows": list_of(lambda value: isinstance(value, dict)),
    "options": lambda value: isinstance(value, dict),
}


@dataclass(frozen=True)
class NamedResult:
    """A result to save under a name."""

    name: str
    result: RunResult
    call: dict[str, Any] | None  # what it answers, so that later calls can go on from it

    def write(self, folder: Path, prefix: str) -> dict[str, Any]:
        """Write the blocks of the result, whose names begin with `prefix`. Returns its entry in the manifest."""
        result, workers = self.result, self.result._workers
        held = result._available()
        arguments = [(folder, f"{prefix}.p{part}", held.of(part), part) for part in sorted(held.homes)]
        written = workers.bring(workers.each(_write, arguments))
        for one in written:
            if isinstance(one, OSError):
                raise one
        columns = result._empty.columns
        return {
            "operation": next((name for name, kind in RunResult.kinds.items() if kind is type(result)), ""),
            "columns": list(columns),
            "dtypes": [values.dtype.str for values in columns.values()],
            "widths": [values.shape[1] if values.ndim == 2 else None for values in columns.values()],
            "vertex_columns": result._vertex_columns,
            "missing": sorted(result._missing),
            "whole": result._whole,
            "parts": sorted(held.homes),
            "rounds": int(result.rounds),
            "totals": {name: _typed(value) for name, value in result.totals.items()},
            "rows": json.loads(json.dumps(result._rows, default=_as_json)),
            "options": json.loads(json.dumps(result._options, default=_as_json)),
            **({} if self.call is None else {"call": self.call}),
            "blocks": {name: entry for blocks in written for name, entry in blocks.items()},
        }


def _typed(value: Any) -> list[Any]:
    return [np.asarray(value).dtype.str, np.asarray(value).tolist()]


def _as_json(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def to_save(graph: PartitionedGraph, results: Mapping[str, RunResult] | None) -> list[NamedResult]:
    """The user's `results`, after checking them."""
    if results is not None and not isinstance(results, Mapping):
        raise OptionError(f"results={type(results).__name__} must be a mapping, such as results={{'pagerank': result}}")
    for name, result in (results or {}).items():
        if not isinstance(name, str) or not isinstance(result, RunResult):
            got = f"{name!r}: {type(result).__name__}"
            raise OptionError(f"results={{{got}}} must map names to results of operations or of dgraph.run")
        if not has_vertices_of(result, graph):
            raise OptionError(f"results={{{name!r}: ...}} is a result for vertices other than those of this graph")
        for column, values in result._empty.columns.items():
            if not is_number_type(values.dtype.str):
                what = f"column {column!r} of type {values.dtype}"
                raise ColumnError(f"results={{{name!r}: ...}}: {what} cannot be saved; leave this result out")
    return [NamedResult(name, result, _call_of(result, graph)) for name, result in (results or {}).items()]


def _call_of(result: RunResult, graph: PartitionedGraph) -> dict[str, Any] | None:
    """What a result answers; None if it is for another version of the graph, or nobody can go on from it."""
    call: OperationCall | None = result._answers
    return call.described() if call is not None and call.version is graph.input_edges.version else None


def _write(folder: Path, prefix: str, result: WorkerResult, part: int) -> dict[str, store.Entry] | OSError:
    """Write the values of a partition's vertices. Returns the blocks, or an OSError, so that all partitions finish."""
    numbers, columns = result.parts[part]
    arrays = {f"{prefix}.numbers": numbers, **{f"{prefix}.column{k}": one for k, one in enumerate(columns.values())}}
    try:
        return {f"{name}.npy": store.write_array(folder, name, array) for name, array in arrays.items()}
    except OSError as error:
        return error


class SavedResults(Mapping):
    """The results that were saved with an opened graph, by name. Looking one up opens it."""

    def __init__(self, graph: PartitionedGraph):
        self._graph, opened = graph, graph.input_edges.opened
        self._saved: dict[str, Any] = {} if opened is None else opened.results

    def __getitem__(self, name: str) -> RunResult:
        if name not in self._saved:
            raise KeyError(f"no result {name!r} was saved with this graph; it has {self._names()}")
        return recoverable_result(self._graph, partial(_opened, name=name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._saved)

    def __len__(self) -> int:
        return len(self._saved)

    def __repr__(self) -> str:
        return f"<saved results: {self._names()}>"

    def _names(self) -> str:
        return ", ".join(map(repr, self._saved)) or "none"


def _opened(graph: PartitionedGraph, name: str) -> RunResult:
    """A saved result, memory-mapped by the workers."""
    saved, workers = graph.input_edges.opened, graph.workers
    assert saved is not None
    said, number = saved.results[name], list(saved.results).index(name)
    with saved.reading():
        for field, test in SHAPE.items():
            require(test(said[field]), f"{field} of result {name!r}")
        require(is_text(said.get("operation", "")), f"operation of result {name!r}")
        columns = zip(said["columns"], said["dtypes"], said["widths"], strict=True)
        none = {column: np.empty((0,) if width is None else (0, width), dtype) for column, dtype, width in columns}
        totals = {name: np.array(value, dtype)[()] for name, (dtype, value) in said["totals"].items()}
        call = OperationCall.of_description(graph, said["call"]) if "call" in said else None
    about = set(said["missing"]), said["rows"], said["rounds"], totals
    empty = [WorkerResult({part: VertexValues(np.empty(0, np.int64), none)}, *about) for part in said["parts"]]
    arguments = [(saved, number, part, none, graph.num_vertices) for part in said["parts"]]
    homes = [workers.host(place, len(arguments)) for place in range(len(arguments))]
    held = workers.wait(workers.each(_read, arguments, homes))
    kind = _kind(said.get("operation", ""))
    result = kind(graph, held, said["vertex_columns"], said["options"], summaries=empty)
    result._rows, result._whole, result._is_beside = said["rows"], said["whole"], False
    result._answers = call
    return result


def _kind(operation: str) -> type[RunResult]:
    """The class of an operation's results, which the operation's module defines."""
    if operation:
        getattr(import_module("dgraph"), operation, None)
    return RunResult.kinds.get(operation, RunResult)


def _read(saved: SavedGraph, number: int, part: int, none: Mapping[str, np.ndarray], vertices: int) -> WorkerResult:
    """A partition's share of a saved result. Numbers and types are checked, because kernels trust them."""
    prefix = f"{saved.prefix}result{number}.p{part}"
    blocks = list(saved.results.values())[number]["blocks"]

    def get(role: str, types: Sequence[DTypeLike], dimensions: int = 1) -> np.ndarray:
        return store.read_array(saved.folder, f"{prefix}.{role}", blocks[f"{prefix}.{role}.npy"], types, dimensions)

    with saved.reading():
        numbers = get("numbers", store.NUMBERS)
        columns = {name: get(f"column{k}", [one.dtype], one.ndim) for k, (name, one) in enumerate(none.items())}
        require(not len(numbers) or (numbers.min() >= 0 and numbers.max() < vertices), "numbers beyond the vertices")
        for name, values in columns.items():
            require(values.shape == (len(numbers), *none[name].shape[1:]), f"another shape of {name!r}")
    return WorkerResult({part: VertexValues(numbers, columns)}, set(), [], 0, {})
