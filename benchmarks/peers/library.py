"""A Python library as a peer: the graph as arrays, and what the library's file defines for each operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Arrays:
    """Edges in memory, as users have them. An undirected edge is listed once."""

    source: np.ndarray
    destination: np.ndarray
    weight: np.ndarray
    vertices: int
    directed: bool
    start: int  # where paths begin

    @classmethod
    def read(cls, folder: Path) -> Arrays:
        source, destination = np.load(folder / "source.npy"), np.load(folder / "destination.npy")
        weights = folder / "weight.npy"
        weight = np.load(weights) if weights.exists() else np.ones(len(source))
        facts = np.load(folder / "facts.npz")
        return cls(source, destination, weight, int(facts["vertices"]), bool(facts["directed"]), int(facts["start"]))

    def matrix(self, values: np.ndarray) -> Any:
        """All arcs as a SciPy matrix, for the libraries that load from one."""
        from scipy.sparse import coo_matrix

        ends = (self.source, self.destination)
        if not self.directed:
            ends = np.concatenate(ends), np.concatenate(ends[::-1])
            values = np.concatenate([values, values])
        return coo_matrix((values, ends), (self.vertices, self.vertices)).tocsr()


@dataclass(frozen=True)
class Operation:
    load: Callable[[Arrays], Any]  # converts arrays to the library's graph, which operations may share
    run: Callable[[Any, Arrays], Any]  # the part that is timed
    answer: str | Callable[[Any, Arrays], dict[str, Any]]  # the column that it is, or what makes the verifier's columns
    note: str  # what the operation computes, and in which precision
    options: dict[str, Any] = field(default_factory=dict)  # options for the verifier


@dataclass(frozen=True)
class Library:
    packages: tuple[str, ...]  # the packages whose versions identify what was measured
    operations: dict[str, Operation]


# -- answers of libraries that return Python objects -------------------------------------------------------------------


def distances(found: Mapping[int, float], arrays: Arrays) -> dict[str, np.ndarray]:
    """Distances from a mapping of the reached vertices; some libraries leave out the source."""
    distance = np.full(arrays.vertices, np.inf)
    distance[arrays.start] = 0
    distance[np.fromiter(found.keys(), np.int64)] = np.fromiter(found.values(), np.float64)
    return {"distance": distance}


def members(found: Iterable[Iterable[int]], arrays: Arrays) -> dict[str, np.ndarray]:
    """Components from sets of vertices."""
    component = np.full(arrays.vertices, -1)
    for label, part in enumerate(found):
        component[list(part)] = label
    return {"component": component}


def by_number(name: str) -> Callable[[Any, Arrays], dict[str, np.ndarray]]:
    """A function that makes a column from a mapping of every vertex."""
    return lambda found, arrays: {name: np.array([found[v] for v in range(arrays.vertices)])}
