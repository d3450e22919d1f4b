"""The edges of a graph after batches of changes. What was built of the graph before is spliced; only what was not is
built from the listed edges, of which those that were removed are left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd

from dgraph.building.graph_frames import empty
from dgraph.building.input_edges import EdgeRules, InputEdges
from dgraph.building.partition_set import Partitions
from dgraph.building.saved_graph import SavedVersion
from dgraph.changes.batch import net_of
from dgraph.changes.history import Base, History
from dgraph.changes.listed_pairs import pairs_in
from dgraph.changes.merging import Merger, merged_partition
from dgraph.changes.update_report import UpdateReport
from dgraph.frames.any_frame import LazyPieces, count_rows, select_rows, to_main_memory
from dgraph.frames.sources import VertexSource
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.placement import Placement
from dgraph.partition.policies import Policy

AMBIGUOUS = "built from the listed edges, because rows do not tell which of several edges was listed last"


class ChangedEdges(InputEdges):
    """The edges of a graph after batches of changes."""

    def __init__(
        self,
        listed: InputEdges,
        history: History | Callable[[], History],
        vertices: VertexSource,
        report: UpdateReport,
        more_edges: int | None,
        places: tuple[SavedVersion, ...] = (),
        unsaved_vertices: tuple[pd.DataFrame, ...] = (),
    ):
        """`more_edges` is by how many edges the graph is larger than the listed one; None if nobody counted them.
        `history` may be a function that reads it from the disk. `unsaved_vertices` are frames of vertices that the
        saved graph which these edges were made from does not list."""
        self._history, self._report, self._more = history, report, more_edges
        self._finding, self._rows, self._reading = Lock(), list[int](), Lock()
        self._gone: list[np.ndarray] | None = None  # the removed rows of each piece of the listed edges
        self._added: Any = None  # the edges that were added
        frame = LazyPieces(lambda: empty(listed.edges.frame), self._frames)
        super().__init__(replace(listed.edges, frame=frame), vertices, listed.later_rules, listed.workers)
        self.root, self._listed, self.lists_all_vertices = listed.root, listed, listed.lists_all_vertices
        self._places, self.unsaved_vertices = places, unsaved_vertices

    @property
    def history(self) -> History:
        with self._reading:
            if callable(self._history):
                self._history = self._history()
            return self._history

    @property
    def places(self) -> tuple[SavedVersion, ...]:
        """The versions of saved graphs that these edges are or were made from."""
        return self._places or self._listed.places

    @property
    def is_saved(self) -> bool:
        return bool(self._places) and (callable(self._history) or not self._history.unsaved)

    def saved_as(self, version: SavedVersion) -> None:
        kept = [one for one in self.places if self.is_saved and one.root != version.root]
        self._places = (*kept, version)
        self._history, self.unsaved_vertices = self.history.as_saved(), ()

    @property
    def changes(self) -> UpdateReport:
        return self._report

    # -- sizes ---------------------------------------------------------------------------------------------------------

    @property
    def is_read(self) -> bool:
        return True

    @property
    def num_vertices(self) -> int:
        return self.history.size if self.opened is None else self.opened.changes[-1]["num_vertices"]

    @property
    def num_edges(self) -> int:
        if self._more is None:
            self._more = super().num_edges - self._listed.num_edges
        return self._listed.num_edges + self._more

    @property
    def more_edges(self) -> int | None:
        return self._more

    def _number(self) -> Numbering:
        if self._numbering is None:
            self._numbering = self.history.numbering
        return self._numbering

    # -- partitions ----------------------------------------------------------------------------------------------------

    def spliced(self, policy: Policy, parts: int) -> tuple[Partitions, Placement | None] | None:
        """The partitions of the graph, made of those of the base, and where they have vertices; None if there are none,
        or if they do not tell which of several edges to remove. Afterwards, the base is not needed any more."""
        history = self.history
        spread = history.base.spread
        if spread is not None:
            suits = len(spread.partitions) == parts
        else:
            suits = parts == 1 and policy.by_range and history.base.partition is not None
        if not suits:
            return None
        start = time.perf_counter()
        with self.stopwatch("merge"):
            made = self._merged(history, policy.name)
        self._history = history.on(Base(self.numbering))
        if made is None:
            self._report = replace(self._report, merging=AMBIGUOUS)
            return None
        self._report = replace(self._report, merging=f"merged in {time.perf_counter() - start:.2g} s")
        return made

    def _merged(self, history: History, policy: str) -> tuple[Partitions, Placement | None] | None:
        spread = history.base.spread
        if spread is None:
            partition = merged_partition(history, self.edges, self.rules)
            if partition is None:
                return None
            return Partitions([partition], self.workers, history.base.kept, policy, self.num_vertices, {}), None
        merging = Merger(history, self.edges, self.rules)
        if merging.is_ambiguous(any(history.base.kept.values())):
            return None
        merged = spread.changed(history, merging.added, self.rules, policy)
        return merged.partitions, merged.placement

    def forget_lost(self) -> None:
        super().forget_lost()
        self._listed.forget_lost()
        history = None if callable(self._history) else self._history
        if history is not None and history.base.spread is not None and history.base.spread.is_lost:
            self._history = history.on(Base(self.numbering))

    # -- the changed frame ---------------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[int]:
        """The rows of each piece of the changed frame: those of the listed edges, and those that were added."""
        self._find_removed()
        return self._rows

    @rows.setter
    def rows(self, rows: list[int]) -> None:
        self._rows = rows

    def _find_removed(self) -> list[np.ndarray]:
        """The rows of each piece of the listed edges that were removed; and count those that stay."""
        with self._finding:
            if self._gone is None:
                history = self.history
                net = net_of(history.batches, history.rule)
                known, keys = history.of_listed(net.removed)
                found = pairs_in(history.listed, keys, history.rule)
                counts = None if history.rule.merges else net.counts[known].astype(np.int64)
                gone = _last_listed(found, counts)
                self._rows = [rows - len(one) for rows, one in zip(history.listed.rows, gone, strict=True)]
                self._rows.append(len(net.frame))
                self._added, self._gone = net.frame, gone
            return self._gone

    def _frames(self) -> list[Any]:
        """Tasks that make the pieces of the changed frame."""
        gone, call = self._find_removed(), self.workers.call
        pieces = zip(self._listed.edge_pieces, gone, strict=True)
        return [*(call(_without_rows, piece, rows) for piece, rows in pieces), call(_same, self._added)]

    def anew(self, rules: EdgeRules | None = None) -> InputEdges:
        self.number()  # has vertices without edges, too
        return super().anew(rules)


def _last_listed(found: Sequence[tuple[np.ndarray, np.ndarray]], counts: np.ndarray | None) -> list[np.ndarray]:
    """Of the rows of each piece that have one of some pairs of ends, those of the last `counts[k]` edges of pair k over
    all pieces; without `counts`, all of them."""
    if counts is None:
        return [rows for rows, _ in found]
    pairs = np.concatenate([pair for _, pair in found])
    order = np.argsort(pairs, kind="stable")
    ends = np.cumsum(np.bincount(pairs, minlength=len(counts)))
    chosen = np.zeros(len(pairs), bool)
    chosen[order] = ends[pairs[order]] - np.arange(len(pairs)) <= counts[pairs[order]]
    cuts = np.split(chosen, np.cumsum([len(rows) for rows, _ in found])[:-1])
    return [rows[cut] for (rows, _), cut in zip(found, cuts, strict=True)]


@explain_lack_of_memory("the edges of a graph", "list them")
def _without_rows(frame: Any, rows: np.ndarray) -> Any:
    frame = to_main_memory(frame)
    if not len(rows):
        return frame
    kept = np.ones(count_rows(frame), bool)
    kept[rows] = False
    return select_rows(frame, kept)


def _same(frame: pd.DataFrame) -> pd.DataFrame:
    return frame
