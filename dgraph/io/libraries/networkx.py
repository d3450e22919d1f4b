"""NetworkX graphs to edges and back: ids, isolated nodes, parallel edges and attributes come through unchanged."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dgraph.errors import ColumnError, IdError, WeightError
from dgraph.io.edge_list import EdgeList
from dgraph.io.libraries.attributes import attribute_column, check_id_list, present, records


def from_networkx(g: Any, weight: str | None = "weight") -> EdgeList:
    """The edges with their attributes, keys of a multigraph in `key`; nodes with theirs, ids in `id`.

    The attribute `weight` is the weight when some edge has it; where one lacks it, it is 1, as in NetworkX.
    """
    nodes = list(g.nodes(data=True))
    remedy = "number them: networkx.convert_node_labels_to_integers(g, label_attribute='name')"
    check_id_list([node for node, _ in nodes], remedy)
    keyed = (
        list(g.edges(keys=True, data=True))
        if g.is_multigraph()
        else [(u, v, None, d) for u, v, d in g.edges(data=True)]
    )
    columns: dict[str, Any] = {"source": [e[0] for e in keyed], "destination": [e[1] for e in keyed]}
    if g.is_multigraph():
        columns["key"] = attribute_column([e[2] for e in keyed])
    weighted = weight is not None and any(weight in e[3] for e in keyed)
    for name in dict.fromkeys(name for e in keyed for name in e[3]):
        if not isinstance(name, str) or name in columns:
            raise ColumnError(f"edge attribute {name!r} cannot be a column beside {', '.join(columns)} (rename it)")
        missing: Any = 1 if name == weight else pd.NA
        columns[name] = attribute_column([e[3].get(name, missing) for e in keyed])
        if name == weight and not pd.api.types.is_numeric_dtype(columns[name].dtype):
            bad = next(
                value for value in columns[name] if isinstance(value, bool) or not isinstance(value, (int, float))
            )
            raise WeightError(f"the weight {bad!r} is not a number (correct it, or name another attribute as weight=)")
    attributes = {"id": [node for node, _ in nodes]}
    for name in dict.fromkeys(name for _, data in nodes for name in data):
        if not isinstance(name, str) or name in attributes:
            raise ColumnError(f"node attribute {name!r} cannot be a column beside 'id' (rename it)")
        attributes[name] = attribute_column([data.get(name, pd.NA) for _, data in nodes])
    edges, vertices = pd.DataFrame(columns), pd.DataFrame(attributes)
    if not len(edges):
        edges = edges.astype(vertices["id"].dtype if nodes else "int64")
    return EdgeList(edges, "source", "destination", weight if weighted else None, g.is_directed(), vertices)


def to_networkx(
    edges: pd.DataFrame,
    vertices: pd.DataFrame | None = None,
    *,
    source: str = "source",
    destination: str = "destination",
    vertex: str | None = None,
    directed: bool = True,
    multigraph: bool | None = None,
) -> Any:
    """A graph of these frames; a multigraph when edges repeat, unless `multigraph` says. Other columns are attributes.

    `vertex` is the column of ids, by default the first; a column `key` holds the keys of a multigraph.
    """
    import networkx

    for name in (source, destination):
        if name not in edges.columns:
            raise ColumnError(f"the edges have no column {name!r} (they have {', '.join(map(str, edges.columns))})")
    if multigraph is None:
        pairs = edges[[source, destination]]
        if not directed:
            swap = pairs[source] > pairs[destination]
            pairs = pairs.where(~swap, pairs[[destination, source]].set_axis(pairs.columns, axis=1))
        multigraph = "key" in edges.columns or bool(pairs.duplicated().any())
    kind = "Multi" * multigraph + "Di" * directed + "Graph"
    g = getattr(networkx, kind)()
    if vertices is not None and len(vertices.columns):
        vertex = vertices.columns[0] if vertex is None else vertex
        if vertex not in vertices.columns:
            raise ColumnError(
                f"the vertices have no column {vertex!r} (they have {', '.join(map(str, vertices.columns))})"
            )
        g.add_nodes_from((node, data) for (node,), data in records(vertices, [vertex]))
    ends = [source, destination] + (["key"] if multigraph and "key" in edges.columns else [])
    for ids, data in records(edges, ends):
        if any(not present(node) for node in ids[:2]):
            raise IdError(f"an id of edge {ids[:2]} is missing (fill it in, or drop the row)")
        g.add_edges_from([(*ids, data)])
    return g
