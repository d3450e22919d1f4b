"""The exact diameter of real graphs, against igraph and NetworKit.

    .venv/bin/python benchmarks/diameter.py --data FOLDER

All find the same number. Of a graph with several components, the largest is searched.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from betweenness import igraph_of, networkit_of, ours_of, real
from harness import Claim, parser_of, take_turns

import dgraph as dg
from dgraph.errors import AnswerError
from dgraph.testing.verify import Edges

FASTER = 0.9  # the most that ours may take, relative to theirs
NAMES = ("PGPgiantcompo", "wave", "usroads-48")
LARGE = 50_000  # vertices from which igraph, which searches from each, would take hours
PEERS = ("igraph", "NetworKit")


def main() -> None:
    options = parser_of(__doc__, trials=3)
    options.add_argument("--data", type=Path, required=True, help="a folder of real graphs")
    options.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    given = options.parse_args()
    for title, edges in real(given.data, NAMES):
        for peer in given.peers:
            if peer == "NetworKit" or edges.vertices < LARGE:
                compare(title, edges, peer, given.trials)


def compare(title: str, edges: Edges, peer: str, trials: int) -> None:
    what = f"diameter, {title}"
    try:
        if peer == "igraph":
            theirs = largest_of_igraph(edges).diameter
        else:
            nk = importlib.import_module("networkit")
            whole = networkit_of(edges)
            largest = nk.components.ConnectedComponents.extractLargestConnectedComponent(whole, True)
            search = nk.distance.DiameterAlgo.EXACT
            theirs = lambda: nk.distance.Diameter(largest, search).run().getDiameter()[0]  # noqa: E731
    except ImportError as error:
        Claim("diameter", what, peer, FASTER).absent(str(error))
        return
    graph, known = ours_of(edges), set()

    def check(found: float) -> None:
        known.add(found)
        if len(known) > 1:
            raise AnswerError(f"{what}: dgraph and {peer} find different numbers: {known}")

    turns = {"ours": (lambda: dg.diameter(graph, components="largest"), check), "theirs": (theirs, check)}
    seconds = take_turns(turns, trials)
    Claim("diameter", what, peer, FASTER).record(seconds["ours"], seconds["theirs"])


def largest_of_igraph(edges: Edges):  # type: ignore[no-untyped-def]
    return igraph_of(edges).connected_components(mode="weak").giant()


if __name__ == "__main__":
    main()
