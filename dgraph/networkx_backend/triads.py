"""Patterns of three nodes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from dgraph.measures.triads import triad_census
from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.networkx_backend.originals import induced


def triadic_census(G: NodeGraph, nodelist: Collection[Any] | None = None) -> dict[str, int]:
    """Triads with a node of the list are all but those of the other nodes."""
    found = triad_census(G.graph())
    if nodelist is None:
        return found
    numbers = G.bunch(nodelist)
    if len(set(numbers)) != len(nodelist):
        raise ValueError("nodelist includes duplicate nodes or nodes not in G")
    others = np.ones(len(G), bool)
    others[numbers] = False
    outside = triad_census(induced(G, others).graph())
    return {name: count - outside[name] for name, count in found.items()}
