"""Paths along the predecessors that a search has found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.arguments import is_collection, vertex_list
from dgraph.errors import ColumnError, RunError
from dgraph.native.free_memory import refuse_beyond_memory
from dgraph.partition.ids.numbering import Numbering
from dgraph.phrases.phrases import format_count
from dgraph.runs.worker_results import WorkerResult
from dgraph.solvers.paths.predecessors import ENDLESS, UNREACHED, list_paths, path_lengths

if TYPE_CHECKING:
    from dgraph.runs.result import RunResult

ROW = 40  # bytes of a row while it is listed, without text
DISTANCE, PREDECESSOR = "distance", "predecessor"


class Trails:
    """The predecessors of all vertices, in this process."""

    def __init__(self, steps: np.ndarray, numbering: Numbering):
        self.steps = steps  # by vertex number: the predecessor, the vertex itself if it is a source, or UNREACHED
        self.numbering = numbering

    @classmethod
    def of(cls, result: RunResult) -> Trails:
        """Fetch the predecessors of a result from the workers."""
        if not {DISTANCE, PREDECESSOR} <= result._empty.columns.keys() or PREDECESSOR not in result._vertex_columns:
            raise ColumnError(
                f"path() follows predecessors, but the result has only {', '.join(result._empty.columns)}; run bfs, or "
                "sssp without predecessors=False and per_source=True"
            )
        if not result._whole:
            raise ColumnError("path() follows predecessors, but this result lists only some vertices")
        size = result._numbering.size
        steps = np.empty(size, np.int32 if size < 1 << 31 else np.int64)

        def arguments() -> list[tuple]:
            held = result._available()
            return [(held.of(part), part, size, steps.dtype) for part in held.homes]

        for numbers, some in result._get(_steps, arguments):
            steps[numbers] = some
        return cls(steps, result._numbering)

    def path(self, target: Any) -> list[Any] | pd.DataFrame:
        """The path to a vertex, or those to several as a frame."""
        listed = vertex_list("target", target, at_least=0)
        numbers = np.array(list(dict.fromkeys(map(self.numbering.find, listed))), np.int64)
        lengths = np.empty(len(numbers), np.int64)
        path_lengths(self.steps, numbers, np.zeros_like(self.steps), lengths)
        if (lengths == ENDLESS).any():
            (id,) = self._ids(numbers[lengths == ENDLESS][:1]).tolist()
            raise RunError(f'the predecessors of {id!r} form a cycle: run the search again, with engine="auto"')
        ends = np.cumsum(lengths)
        vertices = np.empty(self._room(int(lengths.sum()), len(numbers)), np.int64)
        list_paths(self.steps, numbers, ends, vertices)
        if not is_collection(target):
            return self._ids(vertices).tolist()
        step = np.arange(len(vertices)) - np.repeat(ends - lengths, lengths)
        return pd.DataFrame(
            {"target": self._ids(np.repeat(numbers, lengths)), "step": step, "vertex": self._ids(vertices)}
        )

    @staticmethod
    def _room(rows: int, paths: int) -> int:
        """The number of rows, if the ids of these and of their targets fit into memory."""
        refuse_beyond_memory(f"{format_count(paths, 'path')} with {format_count(rows, 'vertex')}", ROW * rows)
        return rows

    def _ids(self, numbers: np.ndarray) -> Any:
        return self.numbering.restored(numbers)


def _steps(result: WorkerResult, part: int, size: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of a partition's vertices, and where the paths to them come from."""
    numbers, columns = result.parts[part]
    before = columns[PREDECESSOR]
    at_end = np.where(columns[DISTANCE] < np.inf, numbers.astype(np.int64), UNREACHED)
    return numbers, np.where((before >= 0) & (before < size), before, at_end).astype(dtype)
