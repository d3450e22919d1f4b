"""Maximal independent sets against NetworKit, colorings and topological generations against igraph, on R-MAT,
grid and uniform graphs.

    .venv/bin/python benchmarks/choices.py

Every trial is verified. NetworKit's sets are other random ones, and igraph puts the vertices in order without their
generations. For orders, edges lead to the larger vertex.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from betweenness import igraph_of, networkit_of, ours_of
from harness import Claim, parser_of, rmat_edges, simple, take_turns

import dgraph as dg
from dgraph.errors import AnswerError
from dgraph.io.generate import Grid, Uniform
from dgraph.testing.verify import Edges, verify

FASTER = 0.9  # the most that ours may take, relative to theirs
COLORS = 1.1  # the most colors, relative to theirs
Find = Callable[[], Any]


def graphs(scale: int) -> Iterator[tuple[str, Edges]]:
    """Undirected graphs without loops and repeats, of 2**scale vertices."""
    size = 1 << scale
    ends = {
        f"R-MAT scale {scale}": rmat_edges(scale),
        "grid": _ends(Grid(1 << (scale // 2), 1 << (scale - scale // 2))),
        "uniform": _ends(Uniform(size, 16 * size, seed=1)),
    }
    for title, (source, destination) in ends.items():
        edges = simple(source, destination, size)
        yield f"{title}, {len(edges.source) / 1e6:.1f} M edges", edges


def _ends(generator: Any) -> tuple[np.ndarray, np.ndarray]:
    columns = generator.build()
    return columns["source"], columns["destination"]


def luby(edges: Edges) -> Find:
    nk = importlib.import_module("networkit")
    graph = networkit_of(edges)
    return lambda: nk.independentset.Luby().run(graph)


def independent_sets(title: str, edges: Edges, graph: dg.Graph, trials: int) -> None:
    claim = Claim("choices", f"maximal independent set, {title}", "NetworKit", FASTER)
    try:
        theirs = luby(edges)
    except ImportError as missing:
        claim.absent(str(missing))
        return
    check = partial(verify, "maximal_independent_set", edges)
    turns = {
        "ours": (partial(dg.maximal_independent_set, graph), partial(check, random_seed=0)),
        "theirs": (theirs, lambda found: check({"in_set": np.array(found)})),
    }
    claim.record(*take_turns(turns, trials).values())


def colorings(title: str, edges: Edges, graph: dg.Graph, trials: int) -> None:
    claim = Claim("choices", f"coloring, {title}", "igraph", FASTER)
    try:
        theirs = igraph_of(edges).vertex_coloring_greedy
    except ImportError as missing:
        claim.absent(str(missing))
        return
    counts: dict[str, list[int]] = {"ours": [], "theirs": []}

    def check(name: str, colors: np.ndarray, **options: int) -> None:
        verify("coloring", edges, {"color": colors}, **options)
        counts[name].append(int(colors.max()) + 1)

    turns = {
        "ours": (partial(dg.coloring, graph), lambda found: check("ours", found.by_number("color"), random_seed=0)),
        "theirs": (theirs, lambda found: check("theirs", np.array(found))),
    }
    claim.record(*take_turns(turns, trials).values())
    Claim("choices", f"number of colors, {title}", "igraph", COLORS, unit="colors").record(*counts.values())


def orders(title: str, edges: Edges, trials: int) -> None:
    edges = Edges(edges.source, edges.destination, edges.vertices)
    claim = Claim("choices", f"topological generations, {title}", "igraph", FASTER)
    try:
        theirs = igraph_of(edges).topological_sorting
    except ImportError as missing:
        claim.absent(str(missing))
        return

    def check(order: list[int]) -> None:
        places = np.empty(edges.vertices, np.int64)
        places[order] = np.arange(edges.vertices)
        if (places[edges.source] > places[edges.destination]).any():
            raise AnswerError("an edge leads back in this order")

    graph = ours_of(edges)
    turns = {
        "ours": (partial(dg.topological_generations, graph), partial(verify, "topological_generations", edges)),
        "theirs": (theirs, check),
    }
    claim.record(*take_turns(turns, trials).values())


def main() -> None:
    given = parser_of(__doc__, scale=20, trials=3).parse_args()
    for title, edges in graphs(given.scale):
        graph = ours_of(edges)
        independent_sets(title, edges, graph, given.trials)
        colorings(title, edges, graph, given.trials)
        orders(title, edges, given.trials)


if __name__ == "__main__":
    main()
