"""Cores, trusses and shells, as graphs."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np

from dgraph.communities.trusses import k_truss as our_k_truss
from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.networkx_backend.originals import original, part
from dgraph.ops.k_core import core_number as our_core_number

LOOPS = "Input graph has self loops which is not permitted; Consider using G.remove_edges_from(nx.selfloop_edges(G))."


def core_number(G: NodeGraph) -> dict[Any, int]:
    if G.has_loops():
        raise nx.NetworkXNotImplemented(LOOPS)
    return G.by_node(G.column(our_core_number(G.graph()), "core"))


def k_core(G: NodeGraph, k: int | None = None, core_number: dict | None = None) -> Any:
    cores = _cores(G, core_number)
    least = max(cores.values()) if k is None else k
    return part(G, [node for node, core in cores.items() if core >= least])


def k_shell(G: NodeGraph, k: int | None = None, core_number: dict | None = None) -> Any:
    cores = _cores(G, core_number)
    only = max(cores.values()) if k is None else k
    return part(G, [node for node, core in cores.items() if core == only])


def k_crust(G: NodeGraph, k: int | None = None, core_number: dict | None = None) -> Any:
    cores = _cores(G, core_number)
    most = max(cores.values()) - 1 if k is None else k
    return part(G, [node for node, core in cores.items() if core <= most])


def k_corona(G: NodeGraph, k: int, core_number: dict | None = None) -> Any:
    """The nodes of the k-shell with exactly k neighbours in the k-core."""
    cores = _cores(G, core_number)
    numbers = np.array([cores[node] for node in G.nodes])
    source, target = G.ends()
    apart = source != target
    both = ((source, target), (target[apart], source[apart]))
    inside = [there[numbers[other] >= k] for there, other in both]
    wanted = (numbers == k) & (np.bincount(np.concatenate(inside), minlength=len(G)) == k)
    return part(G, [G.nodes[number] for number in np.flatnonzero(wanted).tolist()])


def k_truss(G: NodeGraph, k: int) -> Any:
    if G.has_loops():
        raise nx.NetworkXNotImplemented(LOOPS)
    if G.graph().num_edges == 0:
        return original(G).edge_subgraph(()).copy()
    edges = our_k_truss(G.graph(), max(math.ceil(k), 2)).compute()
    pairs = zip(edges.iloc[:, 0].tolist(), edges.iloc[:, 1].tolist(), strict=True)
    return original(G).edge_subgraph((G.nodes[u], G.nodes[v]) for u, v in pairs).copy()


def _cores(G: NodeGraph, known: dict | None) -> dict[Any, int]:
    """The core numbers that are known to the caller, who may leave out nodes; those of all nodes if none are."""
    return core_number(G) if known is None else known
