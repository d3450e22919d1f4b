"""python-igraph graphs to edges and back. A vertex id is its attribute `name`, if there is one, else its index."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dgraph.errors import ColumnError, IdError
from dgraph.frames.sources import NoWeight
from dgraph.io.edge_list import EdgeList
from dgraph.io.libraries.attributes import attribute_column, check_id_list, set_weight, to_python


def from_igraph(g: Any, weight: str | None = "auto", name: str | None = "name") -> EdgeList:
    """The edges and vertices with all their attributes; `name=None` keeps the indices as ids."""
    named = name is not None and name in g.vs.attributes()
    ids = list(g.vs[name]) if named else list(range(g.vcount()))
    check_id_list(ids, "name=None uses the indices as ids")
    if len(set(ids)) < len(ids):
        twice = next(value for value in ids if ids.count(value) > 1)
        raise IdError(f"several vertices have the name {twice!r} (make names unique, or pass name=None)")
    pairs = g.get_edgelist()
    edges = pd.DataFrame({"source": [ids[u] for u, _ in pairs], "destination": [ids[v] for _, v in pairs]})
    if not pairs:
        edges = edges.astype("str" if ids and isinstance(ids[0], str) else "int64")
    vertices = pd.DataFrame({"id": pd.Series(ids, dtype=None if ids else "int64")})
    for frame, sequence, skip in ((edges, g.es, None), (vertices, g.vs, name if named else None)):
        for attribute in sequence.attributes():
            if attribute == skip:
                continue
            if attribute in frame.columns:
                raise ColumnError(f"attribute {attribute!r} has the same name as another column (rename the attribute)")
            frame[attribute] = attribute_column(list(sequence[attribute]))
    of_edges = {attribute: list(g.es[attribute]) for attribute in g.es.attributes()}
    label = set_weight(edges, weight, of_edges, [(ids[u], ids[v]) for u, v in pairs])
    unweighted = NoWeight(() if weight is None else None)
    return EdgeList(edges, "source", "destination", label, g.is_directed(), vertices, unweighted)


def to_igraph(edge_list: EdgeList) -> Any:
    """A graph of pandas frames. Its vertices are in the order of `vertices`, with their ids in `name`; columns become
    attributes."""
    import igraph

    edges, vertices, ends = edge_list.edges, edge_list.vertices, [edge_list.source, edge_list.destination]
    ids, *_ = columns = [vertices[name].tolist() for name in vertices.columns]
    check_id_list(ids, "give ids of one type")
    places = {value: place for place, value in enumerate(ids)}
    pairs = [(places[u], places[v]) for u, v in zip(*(edges[end].tolist() for end in ends), strict=True)]
    g = igraph.Graph(n=len(ids), edges=pairs, directed=edge_list.directed is not False)
    g.vs["name"] = ids
    for attribute, values in zip(vertices.columns[1:], columns[1:], strict=True):
        g.vs[attribute] = [to_python(value) for value in values]
    for attribute in edges.columns.drop(ends):
        g.es[attribute] = [to_python(value) for value in edges[attribute].tolist()]
    return g
