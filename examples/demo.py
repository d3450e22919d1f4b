"""dgraph in a minute, in this process and without a cluster: a generated graph, ids, partitions and reports."""

from __future__ import annotations

import argparse

import dgraph as dg


def show(title: str, value: object) -> None:
    print(f"\n{title}\n{'-' * len(title)}\n{value}")


def main(scale: int, parts: int) -> None:
    graph = dg.rmat(scale=scale, edge_factor=16, seed=1, weights=(1, 255), parts=parts)
    show("An R-MAT graph: a few vertices have most of the edges, as on the web", graph)

    edges = graph.edges
    first = edges.partitions[0].head(5)
    show("G.edges: a lazy Dask frame with the ids and columns as they were given; its first rows", first)

    sizes = graph.vertices.map_partitions(len).compute()
    lines = [f"partition {part} owns {size:,} vertices" for part, size in enumerate(sizes)]
    for part in range(parts):
        ids = graph.vertices.partitions[part].compute().iloc[:, 0]
        lines[part] += f": ids {', '.join(str(i) for i in ids.head(3))}, ... {ids.iloc[-1]}"
    show(f"Ids to partitions, under the policy {graph.policy!r}", "\n".join(lines))

    show("G.partitions.report: what was built, and what it cost", graph.partitions.report)
    ranks = dg.pagerank(graph, tol=1e-9)
    show("dg.pagerank(G): the vertices with the highest rank", ranks.compute().nlargest(5, "pagerank").to_string())
    show("r.report: the last supersteps of it", ranks.report.tail(2 * parts).to_string())
    show("G.validate(): what is in the edges, and what that means", graph.validate())


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=int, default=16, help="2**scale vertices, 16 edges a vertex (16: 1 M edges)")
    options.add_argument("--parts", type=int, default=4, help="partitions")
    given = options.parse_args()
    main(given.scale, given.parts)
