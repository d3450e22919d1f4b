"""The vertices that searches start from: all, a sample, or those of a list; and these in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dgraph.arguments import check_integer, vertex_list
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.errors import OptionError

BATCH = 16  # sources that a vertex program searches from at a time


def source_numbers(graph: PartitionedGraph, sources: Any, random_seed: int) -> np.ndarray:
    """The numbers of `sources`, ascending."""
    vertices = graph.num_vertices
    if sources is None:
        return np.arange(vertices, dtype=np.int64)
    if isinstance(sources, int | np.integer) and not isinstance(sources, bool):
        size = check_integer("sources", sources, 1, max(vertices, 1))
        drawn = np.random.default_rng(random_seed).choice(vertices, min(size, vertices), replace=False)
        return np.sort(drawn).astype(np.int64)
    listed = vertex_list("sources", sources)
    numbers = np.array([graph.numbering.find(one) for one in listed], np.int64)
    places, times = np.unique(numbers, return_counts=True)
    if len(places) < len(numbers):
        twice = listed[numbers.tolist().index(int(places[times.argmax()]))]
        raise OptionError(f"sources: the vertex {twice!r} is listed twice")
    return places


def batches(graph: PartitionedGraph, numbers: np.ndarray) -> Iterator[tuple[np.ndarray, list[Any]]]:
    """The sources in batches, and the ids that a vertex program gets: the last batch is filled up, so that all batches
    run the same kernels."""
    for start in range(0, len(numbers), BATCH):
        batch = numbers[start : start + BATCH]
        filled = np.resize(batch, min(BATCH, len(numbers)))
        yield batch, np.asarray(graph.numbering.restored(filled)).tolist()
