"""python-igraph graphs to edges and back; a vertex goes by its attribute `name` if there is one, else by its index."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dgraph.errors import ColumnError, IdError
from dgraph.io.edge_list import EdgeList
from dgraph.io.libraries.attributes import attribute_column, check_id_list, plain


def from_igraph(g: Any, weight: str | None = "weight", name: str | None = "name") -> EdgeList:
    """The edges and vertices with all their attributes; `name=None` keeps the indices as ids."""
    named = name is not None and name in g.vs.attributes()
    ids = list(g.vs[name]) if named else list(range(g.vcount()))
    check_id_list(ids, "say name=None to keep the indices")
    if len(set(ids)) < len(ids):
        twice = next(value for value in ids if ids.count(value) > 1)
        raise IdError(f"the name {twice!r} belongs to several vertices (make names unique, or say name=None)")
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
                raise ColumnError(
                    f"attribute {attribute!r} cannot be a column beside {', '.join(frame.columns)} (rename it)"
                )
            frame[attribute] = attribute_column(list(sequence[attribute]))
    label = weight if weight is not None and weight in g.es.attributes() else None
    return EdgeList(edges, "source", "destination", label, g.is_directed(), vertices)


def to_igraph(
    edges: pd.DataFrame,
    vertices: pd.DataFrame | None = None,
    *,
    source: str = "source",
    destination: str = "destination",
    vertex: str | None = None,
    directed: bool = True,
) -> Any:
    """A graph whose vertices carry their ids in `name`, in the order of `vertices`; columns are attributes."""
    import igraph

    for column in (source, destination):
        if column not in edges.columns:
            raise ColumnError(f"the edges have no column {column!r} (they have {', '.join(map(str, edges.columns))})")
    listed: list[Any] = []
    if vertices is not None and len(vertices.columns):
        vertex = vertices.columns[0] if vertex is None else vertex
        listed = vertices[vertex].tolist()
    named = set(edges[source].tolist()) | set(edges[destination].tolist())
    check_id_list([*listed, *named], "give ids of one type")
    ids = [*listed, *sorted(named - set(listed))]
    if len(set(ids)) < len(ids):
        raise IdError("an id is listed twice among the vertices (drop the repeated rows)")
    places = {value: place for place, value in enumerate(ids)}
    pairs = [(places[u], places[v]) for u, v in zip(edges[source].tolist(), edges[destination].tolist(), strict=True)]
    g = igraph.Graph(n=len(ids), edges=pairs, directed=directed)
    g.vs["name"] = ids
    for attribute in () if vertices is None else vertices.columns.drop(vertex):
        assert vertices is not None
        values = [plain(value) for value in vertices[attribute].tolist()]
        g.vs[attribute] = [*values, *[None] * (len(ids) - len(values))]
    for attribute in [column for column in edges.columns if column not in (source, destination)]:
        g.es[attribute] = [plain(value) for value in edges[attribute].tolist()]
    return g
