"""What each operation does with what can surprise in a graph: its line of the validation, after `docs/semantics.md`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dgraph.building.validation import Counts


def _bfs(counts: Counts) -> list[str]:
    return [f"isolated vertices ({counts.isolated:,}) are reached from nowhere"] if counts.isolated else []


def _sssp(counts: Counts) -> list[str]:
    if counts.negative_weights is None:
        return ["no weights: every edge is of length 1", *_bfs(counts)]
    told = []
    if counts.missing_weights:
        told.append(f"missing weights ({counts.missing_weights:,}) are refused")
    if counts.negative_weights:
        cycle = "" if counts.directed else ", each a negative cycle, as the graph is undirected: refused if reached"
        told.append(f"negative weights ({counts.negative_weights:,}){cycle or ': paths by Bellman and Ford, slower'}")
    if counts.zero_weights:
        told.append(f"edges of length 0 ({counts.zero_weights:,}): predecessors that are strictly nearer are preferred")
    if counts.kept_repeats:
        told.append(f"of repeated edges ({counts.kept_repeats:,}) the lightest count")
    return [*told, *_bfs(counts)]


def _pagerank(counts: Counts) -> list[str]:
    told = _counting(counts)
    if counts.dangling:
        told.append(
            f"vertices without an edge out ({counts.dangling:,}): their rank goes where jumps go, or as dangling= says"
        )
    return [*told, *_weighted(counts)]


def _scores(counts: Counts) -> list[str]:
    return [*_counting(counts), *_weighted(counts)]


def _weighted(counts: Counts) -> list[str]:
    below = counts.negative_weights
    return [f"negative weights ({below:,}) are refused by weighted=True"] if below else []


def _counting(counts: Counts) -> list[str]:
    return [f"repeated edges ({counts.kept_repeats:,}) count each"] if counts.kept_repeats else []


def _voting(counts: Counts) -> list[str]:
    told = [f"repeated edges ({counts.kept_repeats:,}) vote each"] if counts.kept_repeats else []
    if counts.kept_loops:
        votes = "twice " if counts.directed else ""
        told.append(f"self loops ({counts.kept_loops:,}) vote {votes}for the vertex's own label")
    return told


def _label_propagation(counts: Counts) -> list[str]:
    return [*_voting(counts), *_weighted(counts)]


def _degrees(counts: Counts) -> list[str]:
    told = _counting(counts)
    if counts.kept_loops:
        told.append(f"self loops ({counts.kept_loops:,}) add {2 if counts.directed else 1} to a degree")
    return told


def _simple(counts: Counts) -> list[str]:
    passed_over = ((counts.kept_loops, "self loops"), (counts.kept_repeats, "repeated edges"))
    return [f"{what} ({count:,}) do not count" for count, what in passed_over if count]


def _components(counts: Counts) -> list[str]:
    return [f"isolated vertices ({counts.isolated:,}) are components of their own"] if counts.isolated else []


def _matching(counts: Counts) -> list[str]:
    return [f"self loops ({counts.kept_loops:,}) are refused: they join a side to itself"] if counts.kept_loops else []


REMARKS: dict[str, Callable[[Counts], list[str]]] = {  # nothing, where nothing surprises
    "bfs": _bfs,
    "cdlp": _voting,
    "core_number": _simple,
    "degrees": _degrees,
    "hits": _scores,
    "k_core": _simple,
    "katz": _scores,
    "label_propagation": _label_propagation,
    "lcc": _simple,
    "matching": _matching,
    "pagerank": _pagerank,
    "scc": _components,
    "sssp": _sssp,
    "triangles": _simple,
    "wcc": _components,
}
