"""Merges batches of changes into the only partition of a graph in this process: its rows are spliced."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dgraph.building.input_edges import EdgeRules
from dgraph.changes.batch import Batch, ends_of
from dgraph.changes.history import History
from dgraph.changes.spread_base import MERGED, REMEDY
from dgraph.frames.any_frame import numeric_column
from dgraph.frames.sources import EdgeSource
from dgraph.native.free_memory import has_room, refuse_beyond_memory
from dgraph.partition import rules as edge_rules
from dgraph.partition.adjacency import Adjacency
from dgraph.partition.changed_partition import type_with
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.partition import Partition
from dgraph.partition.proxies import check_local_ids
from dgraph.partition.spliced_rows import Splice, count_edges, last_edges


def merged_partition(history: History, edges: EdgeSource, rules: EdgeRules) -> Partition | None:
    """The partition of the base after all batches; None if edges between the same ends have different values, and its
    rows do not tell which was listed last."""
    base, numbering = history.base.partition, history.numbering
    assert base is not None
    check_local_ids(0, 1, history.size)
    merging = Merger(history, edges, rules)
    tables = {order: getattr(base, order) for order in ("out", "incoming") if getattr(base, order) is not None}
    need = sum(table.nbytes for table in set(tables.values()))
    if not has_room(need):
        refuse_beyond_memory(MERGED, need, remedy=REMEDY)
    merged: dict[Adjacency, Adjacency] = {}  # one if both orders are the same
    for order, table in tables.items():
        if table not in merged:
            if merging.is_ambiguous(bool(table.columns)):
                return None
            merged[table] = merging.spliced(table, order)
    first = next(iter(merged.values()))
    orders = {order: merged[table] for order, table in tables.items()}
    whole = Partition.of_whole_graph(first, "out", numbering.ids())
    return replace(whole, out=orders.get("out"), incoming=orders.get("incoming"))


class Merger:
    """The changes of all batches, and how each becomes changes of a table."""

    def __init__(self, history: History, edges: EdgeSource, rules: EdgeRules):
        self.history, self.edges, self.rules = history, edges, rules
        self.net: Batch = history.net

    # -- edges that are removed ----------------------------------------------------------------------------------------

    def is_ambiguous(self, has_values: bool) -> bool:
        """Whether only some of several edges between the same ends go, which may have different values and are listed
        in either direction."""
        if self.rules.directed or self.history.rule.merges or not has_values:
            return False
        found = self.history.base.counts(self.net.removed, directed=False)
        return bool((found > self.net.counts).any())

    def _removed_from(self, table: Adjacency, order: str) -> np.ndarray:
        """The places of the edges of a table that go."""
        (rows, others), which = self._both_ways(*ends_of(self.net.removed), order)
        by_row = np.lexsort((others, rows))
        rows, others, which = rows[by_row], others[by_row], which[by_row]
        counts = self.net.counts[which].astype(np.int64)
        if self.history.rule.merges:
            counts = count_edges(table, rows, others)
        return last_edges(table, rows, others, counts)

    def _both_ways(
        self, sources: np.ndarray, destinations: np.ndarray, order: str
    ) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """The rows and neighbours of edges in an order; in an undirected graph in both directions. And which edge each
        is."""
        ends = (sources, destinations) if order == "out" else (destinations, sources)
        which = np.arange(len(sources))
        if self.rules.directed:
            return ends, which
        back = np.flatnonzero(sources != destinations)
        return (
            (np.concatenate([ends[0], ends[1][back]]), np.concatenate([ends[1], ends[0][back]])),
            np.concatenate([which, back]),
        )

    # -- edges that are added ------------------------------------------------------------------------------------------

    @cached_property
    def added(self) -> NumberedChunk:
        """The edges that are added, after the rules of the graph, with all columns that the partition has."""
        sources, destinations = self.net.listed()
        names = dict.fromkeys(name for names in self.history.base.kept.values() for name in names)
        weight = self.edges.weight
        columns = {name: numeric_column(self.net.frame, name, is_weight=name == weight) for name in names}
        chunk = NumberedChunk(sources, destinations, columns)
        if self.rules.skip_loops:
            chunk = chunk[sources != destinations]
        if self.history.rule.merges and len(chunk):
            how: dict[str, Any] = {"repeats": self.rules.repeats, "directed": self.rules.directed}
            chunk = edge_rules.merge_repeats([chunk], self.history.size, self.history, **how)
        return chunk

    @cached_property
    def _is_there(self) -> np.ndarray:
        """Which of the added edges, where edges are merged, the base has and keeps."""
        if not self.history.rule.merges:
            return np.zeros(len(self.added), bool)
        keys = self.history.rule.keys(self.added.sources, self.added.destinations)
        order = np.argsort(keys)
        found = np.zeros(len(keys), bool)
        found[order] = self.history.base.counts(keys[order], self.rules.directed) > 0
        return found & ~np.isin(keys, self.net.removed)

    def spliced(self, table: Adjacency, order: str) -> Adjacency:
        """A table after all changes."""
        base_size, new = len(table.indptr) - 1, self.added[~self._is_there]
        (rows, others), which = self._both_ways(new.sources, new.destinations, order)
        final = self.history.renumber(rows)
        by_row = np.argsort(final, kind="stable")
        rows, others, which = rows[by_row], others[by_row], which[by_row]
        at = np.empty(len(rows), np.int64)
        old = rows < base_size
        at[old] = table.indptr[rows[old].astype(np.int64) + 1]
        before = final[by_row][~old].astype(np.int64) - self._new_below(final[by_row][~old])
        at[~old] = table.indptr[before]
        splice = Splice(
            self._removed_from(table, order), at, final[by_row].astype(np.int64), self.history.size, self.history.moves
        )
        neighbours = splice.neighbours(table.neighbours, self.history.renumber(others))
        columns = {name: self._spliced_column(splice, table, name, new.columns[name][which]) for name in table.columns}
        made = Adjacency(splice.indptr(table.indptr), neighbours, columns)
        return self._with_merged_values(made, table, splice, order)

    def _new_below(self, numbers: np.ndarray) -> np.ndarray:
        """How many new vertices are before each of some new vertices."""
        return np.searchsorted(np.sort(self.history.new_numbers), numbers)

    @staticmethod
    def _spliced_column(splice: Splice, table: Adjacency, name: str, new: np.ndarray) -> np.ndarray:
        old = table.columns[name]
        return splice.values(old, new, type_with(name, old, new))

    def _with_merged_values(self, made: Adjacency, table: Adjacency, splice: Splice, order: str) -> Adjacency:
        """The table with the values of edges that were there and are added again."""
        again = self.added[self._is_there]
        if not len(again) or self.rules.repeats == "first" or not table.columns:
            return made
        (rows, others), which = self._both_ways(again.sources, again.destinations, order)
        by_row = np.lexsort((others, rows))
        rows, others, which = rows[by_row], others[by_row], which[by_row]
        old = last_edges(table, rows, others, np.ones(len(rows), np.int64))
        of_row = np.searchsorted(table.indptr, old, side="right")
        old = old[np.lexsort((table.neighbours[old], of_row))]  # in the order of `others`: rows are not sorted
        places, columns = splice.places(old), dict(made.columns)
        for name, values in columns.items():
            if values.dtype.kind in "iuf":
                pair = NumberedChunk(again.sources[which], again.destinations[which])
                both = np.stack([table.columns[name][old].astype(values.dtype), again.columns[name][which]], axis=1)
                total = edge_rules.merge_values(name, both, pair, self.rules.repeats, self.history)
                columns[name] = values.astype(np.result_type(values, total), copy=False)
                columns[name][places] = total
        return replace(made, columns=columns)
