"""Cores, trusses, triangles and clustering."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from dgraph.communities.trusses import k_truss as our_k_truss
from dgraph.measures.summary import summary
from dgraph.networkx_backend.node_graphs import ConvertedGraph, NodeGraph
from dgraph.ops.k_core import core_number as our_core_number
from dgraph.ops.lcc import lcc
from dgraph.ops.triangles import triangles as our_triangles

LOOPS = "Input graph has self loops which is not permitted; Consider using G.remove_edges_from(nx.selfloop_edges(G))."


def core_number(G: NodeGraph) -> dict[Any, int]:
    return G.by_node(_cores(G))


def k_core(G: NodeGraph, k: int | None = None, core_number: dict | None = None) -> Any:
    cores = _cores(G, core_number)
    return _subgraph(G, cores >= (cores.max() if k is None else k))


def k_shell(G: NodeGraph, k: int | None = None, core_number: dict | None = None) -> Any:
    cores = _cores(G, core_number)
    return _subgraph(G, cores == (cores.max() if k is None else k))


def k_crust(G: NodeGraph, k: int | None = None, core_number: dict | None = None) -> Any:
    cores = _cores(G, core_number)
    return _subgraph(G, cores <= (cores.max() - 1 if k is None else k))


def k_corona(G: NodeGraph, k: int, core_number: dict | None = None) -> Any:
    """The nodes of the k-shell with exactly k neighbours in the k-core."""
    cores = _cores(G, core_number)
    source, target = G.ends()
    inside = [there[cores[other] >= k] for there, other in ((source, target), (target, source))]
    return _subgraph(G, (cores == k) & (np.bincount(np.concatenate(inside), minlength=len(G)) == k))


def k_truss(G: NodeGraph, k: int) -> Any:
    if G.has_loops():
        raise nx.NetworkXNotImplemented(LOOPS)
    if G.graph().num_edges == 0:
        return _original(G).edge_subgraph(()).copy()
    edges = our_k_truss(G.graph(), max(k, 2)).compute()
    pairs = zip(edges.iloc[:, 0].tolist(), edges.iloc[:, 1].tolist(), strict=True)
    return _original(G).edge_subgraph((G.nodes[u], G.nodes[v]) for u, v in pairs).copy()


def triangles(G: NodeGraph, nodes: Any = None) -> Any:
    return G.chosen(G.column(our_triangles(G.graph()), "triangles"), nodes)


def transitivity(G: NodeGraph) -> float:
    if not G.has_ends:
        return summary(G.graph()).transitivity
    source, target = G.ends()
    between = source != target
    degrees = np.bincount(np.concatenate([source[between], target[between]]), minlength=len(G))
    closed = 6 * our_triangles(G.graph()).totals["triangles"]
    return closed / int((degrees * (degrees - 1)).sum()) if closed else 0


def clustering(G: NodeGraph, nodes: Any = None, weight: str | None = None) -> Any:
    return G.chosen(G.column(lcc(G.graph()), "lcc"), nodes)


def average_clustering(G: NodeGraph, nodes: Any = None, weight: str | None = None, count_zeros: bool = True) -> float:
    shares = clustering(G, nodes).values()
    counted = [share for share in shares if count_zeros or share > 0]
    return sum(counted) / len(counted)


def _cores(G: NodeGraph, known: dict | None = None) -> np.ndarray:
    if known is not None:
        return np.array([known[node] for node in G.nodes])
    if G.has_loops():
        raise nx.NetworkXNotImplemented(LOOPS)
    return G.column(our_core_number(G.graph()), "core")


def _subgraph(G: NodeGraph, wanted: np.ndarray) -> Any:
    return _original(G).subgraph([G.nodes[number] for number in np.flatnonzero(wanted).tolist()]).copy()


def _original(G: NodeGraph) -> Any:
    """The graph of NetworkX, of which a part is asked for, with all its attributes."""
    if not isinstance(G, ConvertedGraph):
        raise NotImplementedError("parts of a dgraph.Graph are edges: call dgraph.k_core or dgraph.k_truss")
    return G.original()
