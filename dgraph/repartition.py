"""Partitions in which every owned vertex has all its edges, for programs that merge whole neighbourhoods at once.

Where messages travel along the edges this is the incoming cut. Where they travel against them too, an edge of a
directed graph is placed twice: with its destination and with its source.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dgraph import assembly
from dgraph.graph import Graph
from dgraph.partition import placement, policies
from dgraph.partition.partition import agree, assemble
from dgraph.partition.placement import Placement
from dgraph.partition.policies import Policy

_made: WeakKeyDictionary[Graph, dict[tuple, list[Any]]] = WeakKeyDictionary()

INCOMING = Policy("incoming", policies.INCOMING)
OUTGOING = Policy("outgoing", policies.OUTGOING)


def needs_neighbourhoods(graph: Graph, analysis: Any) -> tuple[bool, bool]:
    """Whether a program cannot run on the graph's own partitions, and whether it needs the edges at both ends."""
    alongs = {phase.along if graph.directed else "out" for phase in analysis.phases}
    gathers = not all(phase.combines for phase in analysis.phases) and graph.num_parts > 1
    twice = alongs != {"out"}
    return gathers and (twice or graph.policy != "incoming"), twice


def neighbourhoods(graph: Graph, columns: Sequence[str], orders: Sequence[str], twice: bool) -> list[Any]:
    """The partitions, held where the graph's are; kept as long as the graph is."""
    found = _made.setdefault(graph, {})
    key = (tuple(columns), tuple(orders), twice)
    if key not in found:
        found[key] = _build(graph, columns, orders, twice)
    return found[key]


def _build(graph: Graph, columns: Sequence[str], orders: Sequence[str], twice: bool) -> list[Any]:
    workers, chunks = graph.workers, graph.listed.by_number(columns)
    parts, skips = graph.num_parts, graph.listed.rules.skip_loops
    rules: dict[str, Any] = {"mirror": not graph.directed, "skip_loops": skips}
    where = assembly.plan_places(workers, chunks, graph.numbering, INCOMING, [1.0] * parts, **rules)
    shared, known = workers.share(where), workers.share(graph.numbering)
    placed = []
    for chunk in chunks:
        placed.append((chunk, workers.call(placement.places, chunk, shared, known, False), False))
        if not graph.directed:
            placed.append((chunk, workers.call(placement.places, chunk, shared, known, True), True))
        if twice:
            placed.append((chunk, workers.call(_at_source, chunk, where, known), False))
    halves = []
    for part in range(parts):
        pieces = [workers.call(placement.select, chunk, on, part, flip, skips) for chunk, on, flip in placed]
        halves.append(workers.call(_assemble, part, shared, known, pieces, orders[0], on=workers.host(part, parts)))
    halves = workers.hold(halves)
    requests = [workers.call(itemgetter(1), half) for half in halves]
    found = []
    for part, half in enumerate(halves):
        asked = [workers.call(dict.get, request, part) for request in requests]
        found.append(workers.call(_agreed, half, asked, tuple(orders), on=workers.host(part, parts)))
    return workers.wait(workers.hold(found))


def _at_source(chunk: Any, where: Placement, ids: Any) -> np.ndarray:
    """The partition of each edge's source, where its destination is on another."""
    sources = placement.places(chunk, Placement(OUTGOING, where.bounds), ids, False)
    destinations = placement.places(chunk, where, ids, False)
    return np.where(sources == destinations, np.uint16(2**16 - 1), sources)


def _assemble(part: int, where: Placement, ids: Any, pieces: Sequence[Any], order: str) -> Any:
    return assemble(part, where.bounds, list(pieces), where.numbers, where.ids(ids, part), order)


def _agreed(half: Any, asked: Sequence[Any], orders: Sequence[str]) -> Any:
    found = agree(half[0], {peer: request for peer, request in enumerate(asked) if request is not None})
    return found.with_orders(orders)
