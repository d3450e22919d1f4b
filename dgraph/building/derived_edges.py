"""The edges of a graph that is made from another graph, whose edges are already numbered.

A frame of edges is changed piece by piece, at first use, where its pieces are: no id is looked up again, and nothing
passes through this process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Protocol

import numpy as np
import pandas as pd

from dgraph.building.graph_frames import edge_tables, empty
from dgraph.building.input_edges import EdgeRules, InputEdges
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.cluster.workers import any_lost
from dgraph.errors import InputError
from dgraph.frames.any_frame import LazyPieces, select_rows, to_main_memory, to_pandas
from dgraph.frames.sources import VertexSource
from dgraph.native.free_memory import explain_lack_of_memory, has_room, refuse_beyond_memory, within
from dgraph.partition.ids.bitmaps import IDENTITY, Ranks
from dgraph.partition.ids.chunk import NumberedChunk, chunk_of_vertices
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.induced import edges_between, kept_edges

NO_ROWS = np.zeros(0, bool)
FEWER = "choose fewer edges, or use a machine, a limit or a cluster with more memory"


class EdgeChange(Protocol):
    """What becomes of the edges of a piece of a frame."""

    reads_frames: bool  # whether `choose` needs the piece itself

    def choose(self, chunk: NumberedChunk, frame: Any) -> np.ndarray | None:
        """Which rows of a piece stay; None if all do."""

    def cut(self, chunk: NumberedChunk, kept: Any) -> NumberedChunk:
        """The edges of these rows, by number in the new graph."""

    def of_frame(self, frame: Any, kept: Any) -> Any:
        """The rows of a piece that stay."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The base of changes that keep some edges as they are."""

    chosen: Ranks = IDENTITY  # the vertices that stay

    def cut(self, chunk: NumberedChunk, kept: Any) -> NumberedChunk:
        return kept_edges(chunk, kept, self.chosen)

    @staticmethod
    def of_frame(frame: Any, kept: Any) -> Any:
        return select_rows(frame, kept)


@dataclass(frozen=True, eq=False)
class Between(Selection):
    """Keeps the edges between chosen vertices."""

    reads_frames = False

    def choose(self, chunk: NumberedChunk, frame: Any) -> np.ndarray:
        return edges_between(chunk, self.chosen)


@dataclass(frozen=True, eq=False, kw_only=True)
class Filter(Selection):
    """Keeps the edges for which a user's function of a frame is true."""

    function: Callable[[pd.DataFrame], Any]
    skip_loops: bool
    reads_frames = True

    def choose(self, chunk: NumberedChunk, frame: Any) -> np.ndarray:
        kept = chunk.sources != chunk.destinations if self.skip_loops else np.ones(len(chunk), bool)
        table = to_pandas(to_main_memory(frame))
        table = (table if kept.all() else table[kept]).reset_index(drop=True)
        if len(table):  # functions need not know what to do with no edges
            kept[kept] = self._checked(self._called(table), len(table))
        return kept

    def _called(self, table: pd.DataFrame) -> Any:
        try:
            return self.function(table)
        except MemoryError:
            raise  # to be explained as any other lack of memory
        except Exception as error:
            what = f"{type(error).__name__}: {error}; its frame has the columns {list(table.columns)}"
            raise InputError(f"function {self._name} failed on a frame of {len(table)} edges with {what}") from error

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", None) or repr(self.function)

    def _checked(self, returned: Any, rows: int) -> np.ndarray:
        """What the function returned, as a mask."""
        name = self._name
        wanted = "return a boolean Series or array with one value for each row of the frame"
        if not isinstance(returned, pd.Series | np.ndarray | pd.api.extensions.ExtensionArray):
            raise InputError(f"function {name} returned a {type(returned).__name__}: {wanted}")
        if returned.shape != (rows,):
            raise InputError(f"function {name} returned the shape {returned.shape} for {rows} edges: {wanted}")
        if not pd.api.types.is_bool_dtype(returned.dtype):
            raise InputError(f"function {name} returned values of type {returned.dtype}: {wanted}")
        if isinstance(returned, pd.Series) and not returned.index.equals(pd.RangeIndex(rows)):
            raise InputError(f"function {name} returned a Series whose index is not that of the frame: {wanted}")
        if pd.isna(returned).any():
            row = int(np.flatnonzero(pd.isna(returned))[0])
            raise InputError(f"function {name} returned a missing value for row {row}: fill it with fillna(False)")
        return np.asarray(returned, bool)


@dataclass(frozen=True, eq=False)
class Reversal:
    """Turns every edge around: the columns of ids swap their values."""

    source: str
    destination: str
    reads_frames = False

    @staticmethod
    def choose(chunk: NumberedChunk, frame: Any) -> None:
        return None

    @staticmethod
    def cut(chunk: NumberedChunk, kept: Any) -> NumberedChunk:
        return chunk.reversed()

    def of_frame(self, frame: Any, kept: Any) -> pd.DataFrame:
        table = to_pandas(frame)
        swapped = {self.source: self.destination, self.destination: self.source}
        return table.rename(columns=swapped)[list(table.columns)]


class DerivedEdges(InputEdges):
    """The edges of another graph after a change."""

    def __init__(
        self,
        whole: InputEdges,
        change: EdgeChange,
        numbering: Numbering,
        vertices: VertexSource,
        rules: EdgeRules | None = None,
    ):
        frame = LazyPieces(lambda: change.of_frame(empty(whole.edges.frame), NO_ROWS), self._frames)
        self._whole, self._change, self._changing = whole, change, Lock()
        self._rows: list[int] = []
        self._kept: list[Any] | None = None  # which rows of each piece stay, held
        super().__init__(replace(whole.edges, frame=frame), vertices, rules or whole.rules, whole.workers)
        self._numbering = numbering

    def anew(self, rules: EdgeRules | None = None) -> InputEdges:
        assert self._numbering is not None, "it was given"
        other = DerivedEdges(self._whole, self._change, self._numbering, self.vertices, rules or self.rules)
        other._kept, other._rows = self._kept, self._rows
        return other

    @property
    def rows(self) -> list[int]:
        """The rows of each piece of the changed frame."""
        self.change_edges()
        return self._rows

    @rows.setter
    def rows(self, rows: list[int]) -> None:
        self._rows = rows

    def change_edges(self) -> None:
        """Apply the change to the numbered edges, unless this is already done."""
        with self._changing:
            if self._kept is None or any_lost(self._kept):
                with self.stopwatch("number"), within(self.workers.limit):
                    kept, fresh = self._changed()
                rows = self.workers.get([self.workers.call(len, chunk) for chunk in fresh])
                self.fresh, self._rows = fresh, rows
                self._lent = True  # the arrays may be those of the other graph
                self._kept = kept  # at last, because it says that all is done

    def _changed(self) -> tuple[list[Any], list[Any]]:
        """Which rows of each piece stay, and their edges by number, held. Edges that are too many to hold are read
        twice, so that those that stay are counted before they are held."""
        workers, call = self.workers, self.workers.call
        change, chunks = workers.share(self._change), self._whole.to_read()
        frames: list[Any] = self._whole.edge_pieces if self._change.reads_frames else [None] * len(chunks)
        kept = [call(_kept_rows, change, *one) for one in zip(chunks, frames, strict=True)]
        if self._whole.streamed is not None:
            self._require_room("bytes that say which edges are kept", sum(self._whole.rows))
            kept = workers.hold(kept)
            count = sum(workers.get([call(np.count_nonzero, mask) for mask in kept]))
            self._require_room(f"{count:,} edges that are kept", 2 * count * (4 if self.num_vertices < 2**32 else 8))
        fresh = [call(_cut, change, *one) for one in zip(chunks, kept, strict=True)]
        if self._whole.streamed is not None:
            return kept, workers.hold(fresh)
        held = workers.hold([*kept, *fresh])  # together, so that each piece is read once
        return held[: len(kept)], held[len(kept) :]

    def _require_room(self, what: str, need: int) -> None:
        """Raise a RoomError if this process, or all workers together, cannot hold so many bytes."""
        if self.workers.client is None:
            if not has_room(need):
                refuse_beyond_memory(what, need, remedy=FEWER)
        elif (each := self.workers.memory) is not None:
            refuse_beyond_memory(what, need, each * len(self.workers.addresses), FEWER)

    def _frames(self) -> list[Any]:
        """Tasks that make the pieces of the changed frame."""
        self.change_edges()
        assert self._kept is not None
        pieces, change = zip(self._whole.edge_pieces, self._kept, strict=True), self.workers.share(self._change)
        return [self.workers.call(_changed_frame, change, *one) for one in pieces]

    def as_listed(self, *given: Any, **options: Any) -> list[Any]:
        self.change_edges()
        return super().as_listed(*given, **options)

    def to_read(self) -> list[Any]:
        self.change_edges()
        return super().to_read()

    def forget_lost(self) -> None:
        super().forget_lost()
        self._whole.forget_lost()


@explain_lack_of_memory("the edges of a graph", "choose some of them")
def _kept_rows(change: EdgeChange, chunk: NumberedChunk, frame: Any) -> np.ndarray | None:
    return change.choose(chunk, frame)


@explain_lack_of_memory("the edges of a graph", "choose some of them")
def _cut(change: EdgeChange, chunk: NumberedChunk, kept: Any) -> NumberedChunk:
    return change.cut(chunk, kept)


@explain_lack_of_memory("the edges of a graph", "choose some of them")
def _changed_frame(change: EdgeChange, frame: Any, kept: Any) -> Any:
    return change.of_frame(to_main_memory(frame), kept)


def changed_frame(whole: InputEdges, change: EdgeChange) -> LazyPieces:
    """The frame after a change that keeps all rows, whose ids nobody has numbered."""
    call = whole.workers.call
    return LazyPieces(
        lambda: change.of_frame(empty(whole.edges.frame), None),
        lambda: [call(_changed_frame, change, frame, None) for frame in whole.edge_pieces],
    )


def by_rules(graph: PartitionedGraph) -> InputEdges:
    """The edges of a graph after its rules, as if they had been listed so: a piece for each partition. Reverses that
    are added come after all edges that are listed, as when repeats are merged."""
    edges = graph.input_edges
    halves = [_listed, _added] if edges.rules.symmetrize and edges.rules.repeats == "keep" else [list]

    def frames() -> list[Any]:
        return [task for half in halves for task in edge_tables(graph, half)[0]]

    meta = edge_tables(graph)[1]
    listed = replace(edges.edges, frame=LazyPieces(lambda: meta, frames))
    made = InputEdges(listed, edges.vertices, EdgeRules(graph.directed), graph.workers)
    return made.numbered_as(edges)


def _listed(chunks: list[Any]) -> list[Any]:
    return chunks[: len(chunks) // 2]


def _added(chunks: list[Any]) -> list[Any]:
    return chunks[len(chunks) // 2 :]


# -- vertices ----------------------------------------------------------------------------------------------------------


def chosen_vertices(whole: InputEdges, chosen: Ranks) -> VertexSource:
    """The vertices of a graph that are chosen, with their attributes. The numbering has those that no frame lists."""
    source, workers = whole.vertices, whole.workers
    if not source.columns:
        return VertexSource(id=source.id)

    def frames() -> list[Any]:
        shared = workers.share(whole.numbering), workers.share(chosen)
        return [workers.call(_rows_of, piece, source.id, *shared) for piece in whole.vertex_pieces]

    return VertexSource(LazyPieces(lambda: empty(source.frame), frames), source.id)


def _rows_of(frame: Any, name: str, ids: Numbering, chosen: Ranks) -> Any:
    """The rows of a frame that list chosen vertices."""
    frame, mask = to_main_memory(frame), np.zeros(ids.size, bool)
    mask[chosen.members()] = True
    return select_rows(frame, mask[ids.number_of(chunk_of_vertices(frame, name))])
