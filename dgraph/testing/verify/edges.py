"""The input of verifiers: edges as arrays of vertex numbers from 0 to vertices - 1, and the columns of an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array

from dgraph.building.graph_frames import compute_frames
from dgraph.errors import AnswerError
from dgraph.graph import Graph


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges as arrays: edge i leads from source[i] to destination[i]. An undirected edge leads both ways, except that a
    self loop counts only once."""

    source: np.ndarray
    destination: np.ndarray
    vertices: int
    directed: bool = True
    weight: np.ndarray | None = None
    ids: pd.Index | None = None  # ids of vertices by number; None if ids are numbers
    known: dict[Any, Any] = field(default_factory=dict)  # a cache for later verifications

    @classmethod
    def of(cls, graph: Graph) -> Edges:
        """The edges of a graph, collected in this process."""
        frame, ids = compute_frames(graph)[0], pd.Index(graph.numbering.ids())
        ends = graph.input_edges.edges.source, graph.input_edges.edges.destination
        source, destination = (ids.get_indexer(frame[end]) for end in ends)
        weight = None if graph.weight is None else frame[graph.weight].to_numpy(np.float64)
        return cls(source, destination, graph.num_vertices, graph.directed, weight, ids)

    @cached_property
    def arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Start, end and weight of every arc: an undirected edge has two, an undirected self loop one."""
        if self.directed:
            return self.source, self.destination, self.weight
        turned = self.source != self.destination
        starts = np.concatenate([self.source, self.destination[turned]])
        ends = np.concatenate([self.destination, self.source[turned]])
        weight = None if self.weight is None else np.concatenate([self.weight, self.weight[turned]])
        return starts, ends, weight

    def matrix(self, values: np.ndarray | None = None, *, incoming: bool = False) -> csr_array:
        """The arcs as a matrix, with a row for each start or, if `incoming`, for each end. Repeated arcs are summed."""
        starts, ends, _ = self.arcs
        rows, columns = (ends, starts) if incoming else (starts, ends)
        values = np.ones(len(rows)) if values is None else values
        return coo_array((values, (rows, columns)), (self.vertices, self.vertices)).tocsr()

    @cached_property
    def simple(self) -> csr_array:
        """The graph without directions, self loops and repeats. Each value is the number of directions of an edge."""
        n = max(self.vertices, 1)
        low, high = np.minimum(self.source, self.destination), np.maximum(self.source, self.destination)
        key = (low.astype(np.int64) * n + high) * 2 + (self.directed & (self.source == low))
        key = _distinct(key[low != high])
        pair = _distinct(key >> 1)
        directions = np.diff(np.searchsorted(key >> 1, np.append(pair, n * n))) if self.directed else np.ones(len(pair))
        low, high = np.divmod(pair, n)
        ends = np.concatenate([low, high]), np.concatenate([high, low])
        return coo_array((np.tile(directions, 2), ends), (self.vertices, self.vertices)).tocsr()

    def cached(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The result of `compute`, which runs once per key, since benchmarks verify many answers on the same edges."""
        if key not in self.known:
            self.known[key] = compute()
        return self.known[key]


def _distinct(values: np.ndarray) -> np.ndarray:
    """The distinct values in ascending order. `np.unique` hashes, which is several times slower."""
    values = np.sort(values)
    return values[np.append(True, values[1:] != values[:-1])] if len(values) else values


def column(answer: Any, name: str, edges: Edges, *, of_vertices: bool = False, some: bool = False) -> np.ndarray | None:
    """A column of an answer by vertex number, or None if the answer lacks it. In a column `of_vertices`, ids become
    numbers, and missing ids become -1. If the answer may list only `some` vertices, the others get NaN."""
    if hasattr(answer, "by_number"):
        if not some:
            return answer.by_number(name) if name in answer._empty.columns else None
        answer = answer.compute()
    if name not in answer:
        return None
    values = answer[name]
    if isinstance(answer, pd.DataFrame) and "vertex" in answer and edges.ids is not None:
        numbers = edges.ids.get_indexer(answer["vertex"])
        if some:
            if len(numbers) and numbers.min() < 0:
                raise AnswerError(f"the graph has no vertex {answer['vertex'].iloc[int(numbers.argmin())]!r}")
            if len(np.unique(numbers)) < len(numbers):
                raise AnswerError(f"{name}: a vertex is listed twice")
            spread = np.full(edges.vertices, np.nan)
            spread[numbers] = values
            return spread
        values = values.iloc[np.argsort(numbers)]
        if of_vertices:
            return np.where(values.isna(), -1, edges.ids.get_indexer(values))
    if isinstance(values, pd.Series):
        return values.fillna(-1).to_numpy(np.int64) if of_vertices else values.to_numpy()
    return np.asarray(values)


def expect(right: np.ndarray | bool, describe: Callable[[int], str]) -> None:
    """Raise an AnswerError unless all are right. `describe` returns the problem at the first position that is wrong."""
    right = np.atleast_1d(right)
    if not right.all():
        wrong = len(right) - np.count_nonzero(right)
        others = f", and {wrong - 1:,} more like it" if wrong > 1 else ""
        raise AnswerError(describe(int(np.argmin(right))) + others)


def sized(edges: Edges, columns: Mapping[str, np.ndarray]) -> None:
    """Check that columns hold one value per vertex."""
    for name, values in columns.items():
        if len(values) != edges.vertices:
            raise AnswerError(f"{name}: {len(values):,} values for {edges.vertices:,} vertices")
