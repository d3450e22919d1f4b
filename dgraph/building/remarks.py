"""Validation remarks: how each operation treats unusual features of a graph, according to `docs/semantics.md`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dgraph.building.validation import Counts

Remark: TypeAlias = "Callable[[Counts], Iterator[str]]"


def remarks_for(operation: str, counts: Counts) -> str:
    """The remarks for an operation; empty if nothing is unusual."""
    return "; ".join(text for remark in REMARKS[operation] for text in remark(counts))


def _unreachable(counts: Counts) -> Iterator[str]:
    if counts.isolated:
        yield f"isolated vertices ({counts.isolated:,}) are unreachable"


def _lengths(counts: Counts) -> Iterator[str]:
    if counts.negative_weights is None:
        yield "no weights: every edge has length 1"
        return
    if counts.missing_weights:
        yield f"missing weights ({counts.missing_weights:,}) are refused"
    if counts.negative_weights:
        cycle = ", each of which is a negative cycle in an undirected graph: refused if reached"
        bellman_ford = ": the slower Bellman-Ford algorithm is used"
        yield f"negative weights ({counts.negative_weights:,}){bellman_ford if counts.directed else cycle}"
    if counts.zero_weights:
        yield f"edges of length 0 ({counts.zero_weights:,}): strictly nearer predecessors are preferred"
    if counts.kept_repeats:
        yield f"repeated edges ({counts.kept_repeats:,}): only the lightest counts"


def _dangling(counts: Counts) -> Iterator[str]:
    if counts.dangling:
        remedy = "their rank goes where jumps go; set dangling= to change that"
        yield f"vertices without out-edges ({counts.dangling:,}): {remedy}"


def _weighted(counts: Counts) -> Iterator[str]:
    if counts.negative_weights:
        yield f"negative weights ({counts.negative_weights:,}) are refused with weighted=True"


def _counting(counts: Counts) -> Iterator[str]:
    if counts.kept_repeats:
        yield f"repeated edges ({counts.kept_repeats:,}) all count"


def _voting(counts: Counts) -> Iterator[str]:
    if counts.kept_repeats:
        yield f"repeated edges ({counts.kept_repeats:,}) all vote"
    if counts.kept_loops:
        votes = "twice " if counts.directed else ""
        yield f"self loops ({counts.kept_loops:,}) vote {votes}for the vertex's own label"


def _loops_in_degrees(counts: Counts) -> Iterator[str]:
    if counts.kept_loops:
        yield f"self loops ({counts.kept_loops:,}) add {2 if counts.directed else 1} to a degree"


def _loops_in_communities(counts: Counts) -> Iterator[str]:
    if counts.kept_loops:
        yield f"self loops ({counts.kept_loops:,}) lie inside a community, and add 2 to the degree of their vertex"


def _simple(counts: Counts) -> Iterator[str]:
    if counts.kept_loops:
        yield f"self loops ({counts.kept_loops:,}) are ignored"
    if counts.kept_repeats:
        yield f"repeated edges ({counts.kept_repeats:,}) are ignored"


def _components(counts: Counts) -> Iterator[str]:
    if counts.isolated:
        yield f"isolated vertices ({counts.isolated:,}) are separate components"


def _matching(counts: Counts) -> Iterator[str]:
    if counts.kept_loops:
        yield f"self loops ({counts.kept_loops:,}) are refused: they connect a side with itself"


REMARKS: dict[str, tuple[Remark, ...]] = {
    "bfs": (_unreachable,),
    "cdlp": (_voting,),
    "core_number": (_simple,),
    "degrees": (_counting, _loops_in_degrees),
    "hits": (_counting, _weighted),
    "k_core": (_simple,),
    "katz": (_counting, _weighted),
    "label_propagation": (_voting, _weighted),
    "lcc": (_simple,),
    "leiden": (_counting, _loops_in_communities, _weighted),
    "louvain": (_counting, _loops_in_communities, _weighted),
    "matching": (_matching,),
    "pagerank": (_counting, _dangling, _weighted),
    "scc": (_components,),
    "sssp": (_lengths, _unreachable),
    "triangles": (_simple,),
    "wcc": (_components,),
}
