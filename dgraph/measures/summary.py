"""What a graph looks like, in one page: how dense, how mutual, how clustered, how connected it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy import float64

from dgraph.arguments import known_options
from dgraph.building.validation import Counts
from dgraph.cluster.retry import retry_on_loss
from dgraph.graph import Graph
from dgraph.measures.neighbourhoods import Neighbourhoods, neighbourhoods
from dgraph.native.interruptible_calls import call_team
from dgraph.ops.degrees import degrees
from dgraph.ops.scc import scc
from dgraph.ops.triangles import count_across
from dgraph.ops.wcc import wcc
from dgraph.phrases.phrases import format_count
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Message, State, VertexColumn, VertexProgram
from dgraph.runs.execution import execute
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.similarity import mutual

QUANTILES = {"least": 0.0, "25 %": 0.25, "half": 0.5, "75 %": 0.75, "90 %": 0.9, "99 %": 0.99, "most": 1.0}


@dataclass(frozen=True, eq=False)
class Summary:
    """What a graph looks like. `dgraph.summary` makes it; its `repr` is a readable table.

    Attributes
    ----------
    vertices, edges : int
        Their numbers, after the graph's rules.
    directed : bool
        Whether the graph is directed.
    density : float
        Edges as a share of the pairs of vertices, ordered if the graph is directed.
    loops, repeats : int
        Edges from a vertex to itself, and edges beyond the first between the same ends (in the same direction).
    isolated : int
        Vertices without edges.
    components, largest_component : int
        The number of components without regard to direction, and the vertices of the largest.
    strong_components, largest_strong_component : int
        The same for strongly connected components.
    reciprocity : float
        The share of edges whose reverse is an edge, too, without loops and repeats; 1 in an undirected graph, and 0
        without edges.
    transitivity : float
        The share of pairs of a vertex's neighbours that are neighbours of each other: 3 times the triangles, divided
        by the pairs of edges that meet, without regard to direction, loops and repeats; 0 without such pairs.
    assortativity : float or None
        The correlation of the degrees at both ends of edges (in a directed graph, out-degrees of sources and in-degrees
        of destinations); None if all degrees at one end are the same.
    degrees : pandas.DataFrame
        The mean and quantiles of degrees: ``degree``, and in a directed graph ``in_degree`` and ``out_degree``.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 3]}, directed=False)
    >>> dg.summary(G).transitivity
    0.6
    """

    vertices: int
    edges: int
    directed: bool
    density: float
    loops: int
    repeats: int
    isolated: int
    components: int
    largest_component: int
    strong_components: int
    largest_strong_component: int
    reciprocity: float
    transitivity: float
    assortativity: float | None
    degrees: pd.DataFrame = field(repr=False)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        lines = [f"{kind}: {format_count(self.vertices, 'vertex')}, {format_count(self.edges, 'edge')}"]
        rows: dict[str, Any] = {
            "density": f"{self.density:.4g}",
            "loops": f"{self.loops:,}",
            "repeated edges": f"{self.repeats:,}",
            "isolated": f"{self.isolated:,}",
            "components": f"{self.components:,}, the largest of {format_count(self.largest_component, 'vertex')}",
        }
        if self.directed:
            largest = format_count(self.largest_strong_component, "vertex")
            rows["strong components"] = f"{self.strong_components:,}, the largest of {largest}"
            rows["reciprocity"] = f"{self.reciprocity:.4f}"
        rows["transitivity"] = f"{self.transitivity:.4f}"
        rows["assortativity"] = "not defined" if self.assortativity is None else f"{self.assortativity:.4f}"
        lines += [f"  {name:<20}{value}" for name, value in rows.items()]
        return "\n".join([*lines, self.degrees.to_string(float_format="{:,.6g}".format)])


class HeardDegrees(VertexProgram):
    """The sum of the out-degrees of in-neighbours."""

    kind = "synchronous"
    heard = State(float64)
    message = Message(float64, SUM)
    out_degree = VertexColumn(float64)

    def send(out_degree):
        return out_degree

    def apply(message):
        return message

    def stop(round):
        return round >= 1


@known_options(runs=True)
def summary(graph: Graph) -> Summary:
    """Summarize a graph: its density, components, degrees, and how mutual and clustered its edges are.

    Counting triangles takes most of the time.

    Parameters
    ----------
    graph : Graph
        The graph.

    Returns
    -------
    Summary

    Raises
    ------
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> dg.summary(dg.Graph.from_edges({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 3]}, directed=False))
    undirected: 4 vertices, 4 edges
      density             0.6667
      loops               0
      repeated edges      0
      isolated            0
      components          1, the largest of 4 vertices
      transitivity        0.6000
      assortativity       -0.7143
           degree
    mean        2
    least       1
    25 %     1.75
    half        2
    75 %     2.25
    90 %      2.7
    99 %     2.97
    most        3
    """
    vertices, edges, directed = graph.num_vertices, graph.num_edges, graph.directed
    counts = graph.validate().counts
    weak = _sizes(wcc(graph).by_number("component"))
    strong = _sizes(scc(graph).by_number("component")) if directed else weak
    found = degrees(graph)
    names = ("degree", "in_degree", "out_degree") if directed else ("degree",)
    table = {name: found.by_number(name) for name in names}
    pairs = vertices * (vertices - 1) / (1 if directed else 2)
    return Summary(
        vertices,
        edges,
        directed,
        edges / pairs if pairs else 0.0,
        counts.kept_loops,
        _repeats(graph, counts),
        counts.isolated,
        len(weak),
        int(weak.max(initial=0)),
        len(strong),
        int(strong.max(initial=0)),
        _reciprocity(graph) if directed else float(edges > counts.kept_loops),
        _transitivity(graph),
        _assortativity(graph, table.get("out_degree", table["degree"]), table.get("in_degree", table["degree"])),
        _quantiles(table),
    )


def _sizes(component: np.ndarray) -> np.ndarray:
    """The number of vertices of each component."""
    return np.unique(component, return_counts=True)[1]


@retry_on_loss
def _repeats(graph: Graph, counts: Counts) -> int:
    """Edges beyond the first between the same ends. Rules that drop or add edges leave others than those listed."""
    rules = graph.input_edges.rules
    if not (rules.skip_loops or rules.symmetrize):
        return counts.kept_repeats
    near = neighbourhoods(graph)
    distinct = sum(graph.workers.bring(graph.workers.each(_distinct, [(one,) for one in near])))
    return graph.num_edges - counts.kept_loops - distinct // (1 if graph.directed else 2)


def _distinct(near: Neighbourhoods) -> int:
    return int(near.rows.lengths.sum())


@retry_on_loss
def _reciprocity(graph: Graph) -> float:
    near = neighbourhoods(graph)
    both, total = np.sum(graph.workers.bring(graph.workers.each(_mutual, [(one,) for one in near])), axis=0)
    return float(both / total) if total else 0.0


def _mutual(near: Neighbourhoods) -> tuple[int, int]:
    """How many edges have a reverse, and how many there are."""
    count = partial(mutual, near.rows, near.back)
    return call_team(1, count, len(near.rows.others)), int(near.rows.lengths.sum())


def _transitivity(graph: Graph) -> float:
    found = count_across(graph, _closed, degrees=True)
    closed, pairs = (int(found.by_number(name).sum()) for name in ("closed", "pairs"))
    return closed / pairs if pairs else 0.0


def _closed(counts: np.ndarray, degree: Any, total: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The pairs of a vertex's neighbours that are neighbours, and all pairs."""
    near = degree.astype(np.int64)
    return {"closed": counts, "pairs": near * (near - 1) // 2}, {}


def _assortativity(graph: Graph, out: np.ndarray, into: np.ndarray) -> float | None:
    """Pearson's correlation over all arcs: of the out-degree of the source with the in-degree of the destination."""
    x, y, arcs = out.astype(np.float64), into.astype(np.float64), float(out.sum())
    if not arcs:
        return None
    heard = execute(graph, HeardDegrees(), RunOptions(), {"out_degree": x}).by_number("heard")
    means = (x * x).sum() / arcs, (y * y).sum() / arcs
    spread = [(one * (one - mean) ** 2).sum() / arcs for one, mean in zip((x, y), means, strict=True)]
    if min(spread) <= 1e-12 * max(1.0, *means):
        return None
    return float(((heard * y).sum() / arcs - means[0] * means[1]) / np.sqrt(spread[0] * spread[1]))


def _quantiles(table: dict[str, np.ndarray]) -> pd.DataFrame:
    rows = ["mean", *QUANTILES]
    if not len(table["degree"]):
        return pd.DataFrame({name: [0.0] * len(rows) for name in table}, index=rows)
    return pd.DataFrame(
        {name: [values.mean(), *np.quantile(values, list(QUANTILES.values()))] for name, values in table.items()},
        index=rows,
    )
