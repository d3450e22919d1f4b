"""Patterns of three nodes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from dgraph.measures.triads import triad_census
from dgraph.networkx_backend.node_graphs import NodeGraph


def triadic_census(G: NodeGraph, nodelist: Collection[Any] | None = None) -> dict[str, int]:
    return triad_census(G.graph())
