"""NetworkX graphs to edges and back: ids, isolated nodes, parallel edges and attributes are preserved."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dgraph.errors import ColumnError
from dgraph.frames.any_frame import is_numeric
from dgraph.frames.sources import NoWeight
from dgraph.io.edge_list import EdgeList
from dgraph.io.libraries.attributes import attribute_column, check_id_list, records, set_weight


def from_networkx(g: Any, weight: str | None = "auto") -> EdgeList:
    """The edges with their attributes, and a multigraph's keys in `key`; the nodes with theirs, and their ids in `id`.

    The weight is the attribute `weight`, or by default a numeric one of that name; all edges must have it.
    """
    nodes, data_of_nodes = list(g.nodes()), [data for _, data in g.nodes(data=True)]
    check_id_list(nodes, "number them: networkx.convert_node_labels_to_integers(g, label_attribute='name')")
    edges = list(g.edges(data=True))
    columns: dict[str, Any] = {"source": [u for u, _, _ in edges], "destination": [v for _, v, _ in edges]}
    if g.is_multigraph():
        columns["key"] = attribute_column([key for _, _, key in g.edges(keys=True)])
    attributes = _attributes([data for _, _, data in edges], "edge", list(columns))
    columns |= {name: attribute_column(values) for name, values in attributes.items()}
    of_nodes = _attributes(data_of_nodes, "node", ["id"])
    frame = pd.DataFrame(columns)
    label = set_weight(frame, weight, attributes, [(u, v) for u, v, _ in edges]) if edges else None
    vertices = pd.DataFrame({"id": nodes, **{name: attribute_column(values) for name, values in of_nodes.items()}})
    if not len(frame):
        frame = frame.astype(vertices["id"].dtype if nodes else "int64")
    instead = [name for name in attributes if weight is not None and is_numeric(frame, name)]
    return EdgeList(frame, "source", "destination", label, g.is_directed(), vertices, NoWeight(instead))


def _attributes(data: list[dict], what: str, fixed: list[str]) -> dict[str, list[Any]]:
    """The values of each attribute; pd.NA where it is missing."""
    attributes = {}
    for name in dict.fromkeys(name for one in data for name in one):
        if not isinstance(name, str) or name in fixed:
            problem = f"{what} attribute {name!r} must be a string other than {', '.join(fixed)}"
            raise ColumnError(f"{problem} (rename the attribute)")
        attributes[name] = [one.get(name, pd.NA) for one in data]
    return attributes


def to_networkx(edge_list: EdgeList, multigraph: bool | None = None) -> Any:
    """A graph of pandas frames, whose further columns become attributes.

    The first column of `vertices` holds the ids; a column `key` of the edges holds the keys of a multigraph. By default
    the result is a multigraph if edges repeat or have keys.
    """
    import networkx

    edges, vertices, directed = edge_list.edges, edge_list.vertices, edge_list.directed is not False
    source, destination = edge_list.source, edge_list.destination
    if multigraph is None:
        pairs = edges[[source, destination]]
        if not directed:
            swap = pairs[source] > pairs[destination]
            pairs = pairs.where(~swap, pairs[[destination, source]].set_axis(pairs.columns, axis=1))
        multigraph = "key" in edges.columns or bool(pairs.duplicated().any())
    g = getattr(networkx, "Multi" * multigraph + "Di" * directed + "Graph")()
    g.add_nodes_from((node, data) for (node,), data in records(vertices, [vertices.columns[0]]))
    ends = [source, destination] + (["key"] if multigraph and "key" in edges.columns else [])
    g.add_edges_from((*ids, data) for ids, data in records(edges, ends))
    return g
