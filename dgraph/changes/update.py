"""Makes the changed edges of a graph: numbers what the user adds, finds what is removed, and counts both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dgraph.building.input_edges import InputEdges
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.building.saved_graph import SavedVersion
from dgraph.changes.batch import Batch, PairRule, ends_of
from dgraph.changes.changed_edges import ChangedEdges
from dgraph.changes.changed_frames import EdgeTable, joined_vertices, naming, read_edges, read_vertices, vertex_ids
from dgraph.changes.history import Base, History
from dgraph.changes.new_ids import known_numbers, numbered
from dgraph.changes.spread_base import SpreadBase
from dgraph.changes.update_report import UpdateReport
from dgraph.errors import InputError, MissingEdgesWarning, OptionError
from dgraph.frames.sources import VertexSource
from dgraph.phrases.phrases import format_count, warn

MOST_VERTICES = 2**32 - 1  # two numbers make a key of 64 bits


def updated(graph: PartitionedGraph, added: Any, removed: Any, vertices: Any) -> tuple[InputEdges, tuple[str, ...]]:
    """The edges of a graph after some are removed and others are then added; see `Graph.updated`. And the orders of
    edges into which the changes should be merged at once."""
    _check(graph, added, removed, vertices)
    with naming("added"):
        more = read_edges(graph.input_edges, added, all_columns=True)
    with naming("removed"):
        less = read_edges(graph.input_edges, removed, all_columns=False)
    with naming("vertices"):
        listed = read_vertices(graph.input_edges, vertices)
    if not graph.num_vertices:
        return _anew(graph, more, less, listed), ()
    history, kind = history_of(graph), graph.numbering.id_type
    with naming("vertices"):
        isolated = vertex_ids(listed, kind)
    with naming("added"):
        ids, ends = numbered(history, kind, more.chunk, isolated)
    size = history.size + len(ids)
    if size > MOST_VERTICES:
        raise OptionError(f"updated() is limited to {MOST_VERTICES:,} vertices, got {size:,}")
    with naming("removed"):
        gone = Removal.of(history, *known_numbers(history, kind, less.chunk))
    batch = Batch.of(history.rule, ends, more.frame, ids, history.size).without(gone.keys, gone.counts, gone.emptied)
    loops = int(np.count_nonzero(ends[0] == ends[1])) if history.rule.skip_loops else 0
    report = UpdateReport(len(ends[0]) - loops, int(gone.counts.sum()), gone.missing, len(ids))
    _warn_of_missing(report, less, gone.first_missing)
    change = _more_edges(graph.input_edges, history, batch)
    history = history.with_batch(batch, graph.input_edges.version)
    old = graph.input_edges
    places, unsaved = (old._places, old.unsaved_vertices) if isinstance(old, ChangedEdges) else ((), ())
    unsaved = (*unsaved, *([listed.frame] if listed.columns else []))
    made = ChangedEdges(history.listed, history, joined_vertices(old, listed), report, change, places, unsaved)
    return made, tuple(history.base.kept) if history.is_large else ()


def _check(graph: PartitionedGraph, added: Any, removed: Any, vertices: Any) -> None:
    edges = graph.input_edges
    if edges.later_rules.symmetrize and not edges.rules.symmetrize:
        raise InputError(
            "updated() is not for a saved graph that was made with symmetrize=True, because its reverses are edges "
            "like all others now; make it anew with directed=False"
        )
    if graph.input_edges.of_gpus:
        raise InputError("updated() is not for graphs of cuDF frames; make the graph from frame.to_pandas()")
    if added is None and removed is None and vertices is None:
        raise OptionError("updated() needs added=, removed= or vertices=; frames without rows are allowed")


class FirstEdges(InputEdges):
    """The first edges of a graph that had no vertices, which may have been saved."""

    made_from: tuple[SavedVersion, ...] = ()

    @property
    def places(self) -> tuple[SavedVersion, ...]:
        return self._places or self.made_from

    @property
    def is_saved(self) -> bool:
        return bool(self._places)


def _anew(graph: PartitionedGraph, more: EdgeTable, less: EdgeTable, listed: VertexSource) -> InputEdges:
    """The added edges, of a graph that has no vertices and knows no type of ids."""
    old = graph.input_edges
    made = FirstEdges(replace(old.edges, frame=more.frame), listed, old.later_rules, old.workers)
    made.root, made.made_from = old.root, old.places
    made.changes = UpdateReport(len(more.chunk), 0, len(less.chunk), made.num_vertices)
    _warn_of_missing(made.changes, less, 0)
    return made


def history_of(graph: PartitionedGraph) -> History:
    """The history of a graph's edges, based on its own partition if it is built and whole."""
    edges, rules, built = graph.input_edges, graph.input_edges.later_rules, graph.built
    rule = PairRule(rules.directed and not rules.symmetrize, rules.repeats != "keep", rules.skip_loops)
    base, whole = Base(graph.numbering), graph.num_parts == 1 and graph.cut.by_range and graph.client is None
    if not rules.symmetrize and (whole or graph.cut.by_rule):
        if graph.as_saved:
            built = graph.partitions  # opened, not built
        if built and whole:
            base = Base(graph.numbering, built.held[0], built.kept)
        elif built:
            base = Base(graph.numbering, None, built.kept, SpreadBase(built, graph.placement))
    if not isinstance(edges, ChangedEdges):
        return History(edges, base, rule)
    return edges.history.on(base) if base.is_built else edges.history


@dataclass(frozen=True, eq=False)
class Removal:
    """The keys of the edges to remove that the graph has, how many of each go, and whether none stays; and how many are
    missing."""

    keys: np.ndarray
    counts: np.ndarray
    emptied: np.ndarray
    missing: int
    first_missing: int  # its row; 0 if none is

    @classmethod
    def of(cls, history: History, sources: np.ndarray, destinations: np.ndarray) -> Removal:
        """Find edges by the numbers of their ends, which are -1 where the graph has no such vertex."""
        known = (sources >= 0) & (destinations >= 0)
        if history.rule.skip_loops:
            known &= sources != destinations
        rows = np.flatnonzero(known)
        keys, pair, counts = np.unique(
            history.rule.keys(sources[rows], destinations[rows]), return_inverse=True, return_counts=True
        )
        present = history.present(keys) if len(keys) else np.empty(0, np.int64)
        merges = history.rule.merges
        there = present if not merges else np.where(present > 0, counts, 0)  # the one edge of all of them
        taken = np.minimum(counts, there)
        place = np.empty(len(rows), np.int64)  # of each row among those of its pair
        place[np.argsort(pair, kind="stable")] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        known[rows[place >= taken[pair]]] = False
        taken = np.minimum(taken, 1) if merges else taken
        missing = np.flatnonzero(~known)
        some = taken > 0
        first = int(missing[0]) if len(missing) else 0
        emptied = np.ones(len(keys), bool) if merges else taken == present
        return cls(keys[some], taken[some].astype(np.uint32), emptied[some], len(missing), first)


def _warn_of_missing(report: UpdateReport, less: EdgeTable, row: int) -> None:
    if report.missing:
        source, destination = (less.frame[name].iloc[row : row + 1].tolist()[0] for name in less.ends)
        are = "is" if report.missing == 1 else "are"
        warn(
            f"{format_count(report.missing, 'edge')} to remove {are} not in the graph; the first is in row {row}, from "
            f"{source!r} to {destination!r}",
            MissingEdgesWarning,
        )


def _more_edges(edges: InputEdges, history: History, batch: Batch) -> int | None:
    """By how many edges the graph is now larger than as it was listed; None if this is not known cheaply."""
    before = edges.more_edges if isinstance(edges, ChangedEdges) else 0
    rule, symmetrizes = history.rule, edges.later_rules.symmetrize
    if before is None or (rule.merges and not history.base.is_built):
        return None
    added = np.unique(batch.added) if rule.merges else batch.added
    if rule.skip_loops:
        first, second = ends_of(added)
        added = added[first != second]
    if rule.merges:
        added = added[(history.present(added) == 0) | np.isin(added, batch.removed)]
    return before + _weight(added, 1, symmetrizes) - _weight(batch.removed, batch.counts, symmetrizes)


def _weight(keys: np.ndarray, counts: Any, symmetrizes: bool) -> int:
    """The number of edges with these keys: with their reverses, if these were added."""
    counts = np.broadcast_to(counts, keys.shape).astype(np.int64)
    first, second = ends_of(keys)
    return int(counts.sum() + (counts[first != second].sum() if symmetrizes else 0))
