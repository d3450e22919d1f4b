"""Harmonic centrality (Marchiori and Latora, 2000): the sum of 1 / distance over the vertices that reach a vertex."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dgraph.graph import Graph
from dgraph.ops.closeness import from_sums
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions


@operation
def harmonic(
    graph: Graph,
    *,
    sources: Any = None,
    direction: Literal["in", "out"] = "in",
    weighted: bool = False,
    method: Literal["exact", "sketch"] = "exact",
    random_seed: int = 0,
    engine: Literal["auto", "local"] = "auto",
    device: Literal["auto", "cpu"] = "auto",
) -> RunResult:
    """Harmonic centrality: the sum of 1 / distance over all vertices that reach a vertex.

    Each vertex takes a search of its own, so on large graphs ask for some of them, or for estimates.

    Parameters
    ----------
    graph : Graph
        The graph.
    sources : int or list of vertices, optional
        The vertices whose centrality is computed: a list, or a number of vertices to draw; by default all. The result
        lists no others.
    direction : {"in", "out"}, default "in"
        Whether the distances are those to a vertex, as in NetworkX, or those from it.
    weighted : bool, default False
        Use the graph's weights: as the lengths of edges, which must be finite and > 0.
    method : {"exact", "sketch"}, default "exact"
        How values are found: exactly, or for all vertices from sketches of 256 bytes each, without weights. The work
        for these grows with the edges and the largest distance, not with the number of sources. Single values may be
        far off, above all where few vertices are near.
    random_seed : int, default 0
        Seed of the random number generator, which draws the sample and the sketches.
    engine : {"auto", "local"}, default "auto"
        ``"local"`` is for a graph with one partition.
    device : {"auto", "cpu"}, default "auto"
        Only the CPU computes.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, ``harmonic``. The result's ``totals["sources"]`` is the number of rows. With
        sketches, ``totals["error"]`` is the standard error of the number of vertices within a distance, relative to it.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or a source is listed twice.
    IdError
        If `sources` names a vertex that is not in the graph.
    ColumnError
        If ``weighted=True`` and the graph has no weights.
    WeightError
        If ``weighted=True`` and a weight is not a finite number > 0.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]})
    >>> dg.harmonic(G).compute()
      vertex  harmonic
    0      a  0.000000
    1      b  1.000000
    2      c  1.500000
    3      d  1.833333
    """
    options = RunOptions.on_cpus(graph.num_parts, engine, device, random_seed)
    return from_sums(graph, "harmonic", sources, direction, weighted, method, options, _harmonic)


def _harmonic(numbers: np.ndarray, sums: dict[str, np.ndarray]) -> Any:
    return numbers, {"harmonic": sums["inverse"]}
