"""Edges that are too many to hold in this process: they are read again, piece by piece, whenever they are needed.

One pass numbers the ids. Two more sort the edges into rows: the first counts them, the second puts each in its place.
Besides the rows, this takes two bytes an edge (four beyond 2**25 vertices) and the pieces that are being read. Rows
that do not fit into memory are sorted on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from threading import Lock

import numpy as np

from dgraph.building.frame_pieces import as_told, changed, check_unchanged, fingerprint
from dgraph.native import threads
from dgraph.partition.adjacency import Adjacency, Buckets, EdgeSlice, sorted_pieces
from dgraph.partition.external_sort import sorted_on_disk
from dgraph.partition.ids.bitmaps import GrowingBitmap, union
from dgraph.partition.ids.chunk import Chunk, NumberedChunk, packed
from dgraph.partition.ids.id_tables import release_memory
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.ids.survey import Survey, bitmap_of_range, survey, survey_of_range
from dgraph.partition.scratch import ScratchFolder

WORD_BYTES = 12  # of a bitmap: 64 bits, and the rank of the first
SMALL_BITMAP = 1 << 20
# reads a piece: its ids, and some columns
Read = Callable[[int, tuple[str, ...]], tuple[Chunk, dict[str, np.ndarray]]]


@dataclass
class NumberedEdges:
    """What the first pass found."""

    numbering: Numbering
    rows: list[int]  # of each piece
    fingerprints: list[int]
    loops: int
    chunks: list[NumberedChunk] | None = None  # the edges, if they are few enough to be held

    @classmethod
    def of(
        cls, numbering: Numbering, surveys: Sequence[IdSurvey], chunks: list[NumberedChunk] | None = None
    ) -> NumberedEdges:
        found = sorted(pair for one in surveys for pair in one.pieces.items())
        rows, fingerprints = zip(*(of_piece for _, of_piece in found), strict=True)
        return cls(numbering, list(rows), list(fingerprints), sum(one.loops for one in surveys), chunks)


@dataclass
class IdSurvey:
    """What one thread, or one worker, finds in its share of the pieces."""

    survey: Survey = field(default_factory=lambda: survey_of_range(range(0)))
    bits: GrowingBitmap = field(default_factory=GrowingBitmap)
    pieces: dict[int, tuple[int, int]] = field(default_factory=dict)  # rows and fingerprints
    loops: int = 0

    def add(self, chunk: Chunk, budget: int, number: int | None = None) -> bool:
        """Note the ids of a chunk, and the size of a piece of edges. False if the bitmap would exceed the budget."""
        found = survey(chunk)
        self.survey = self.survey.join(found)
        if not self.usable(budget):
            return False
        if found.low is not None and found.high is not None:
            for ids in (chunk.sources, chunk.destinations):
                self.bits.add(np.asarray(ids), found.low, found.high)
        if number is not None:
            self.pieces[number] = len(chunk), fingerprint(chunk)
            self.loops += int(np.count_nonzero(np.asarray(chunk.sources) == np.asarray(chunk.destinations)))
        return True

    def parted(self) -> tuple[IdSurvey, GrowingBitmap]:
        """The survey without its bits, and the bits."""
        return replace(self, bits=GrowingBitmap()), self.bits

    def usable(self, budget: int) -> bool:
        """Whether all ids are integers whose bitmap, with its ranks, is small or within the budget."""
        return _fits(self.survey, budget)


def of_all(surveys: Sequence[IdSurvey], listed: range, budget: int) -> Survey | None:
    """The survey of all pieces and of a range of vertices; None if it is not usable."""
    total = reduce(Survey.join, [one.survey for one in surveys], survey_of_range(listed)).with_common_type()
    return total if _fits(total, budget) and total.low is not None else None


class HeldChunks:
    """The chunks that are kept while they take no more than `budget` bytes together; beyond that, none is."""

    def __init__(self, budget: int):
        self.left, self.chunks, self._lock = budget, dict[int, Chunk](), Lock()

    def keep(self, number: int, chunk: Chunk) -> None:
        if self.left < 0:
            return
        chunk = packed(chunk)
        with self._lock:
            self.left -= chunk.__sizeof__()
            if self.left >= 0:
                self.chunks[number] = chunk
            else:
                self.chunks.clear()


class EdgeStream:
    """The pieces of a lazy frame whose ids are integers."""

    def __init__(self, read: Read, pieces: int):
        self.read, self.pieces = read, pieces

    def number(self, vertices: Sequence[Chunk], listed: range, budget: int) -> NumberedEdges | None:
        """The numbering of all ids, among them those of `vertices` and of the range `listed`. None if ids are not
        integers, or so far apart that a bitmap of them takes more than the budget."""
        held, ends = HeldChunks(budget), threads.cores()
        shares = [IdSurvey() for _ in range(ends)]
        usable = True

        def look(k: int) -> None:
            nonlocal usable
            for number in range(k, self.pieces, ends):
                if not usable:
                    return
                chunk, _ = self.read(number, ())
                usable &= shares[k].add(chunk, budget, number)
                if usable:
                    held.keep(number, chunk)

        threads.parallel_map(look, range(ends))
        usable &= all(shares[0].add(chunk, budget) for chunk in vertices)
        total = of_all(shares, listed, budget) if usable else None
        if total is None or total.low is None or total.high is None:
            return None
        words = [share.bits.over(total.low, total.high) for share in shares]
        if len(listed):
            words.append(bitmap_of_range(listed, total.low, total.high))
        numbering = Numbering.by_bitmap(total.id_type, total.low, union(words))
        chunks = None
        if held.left >= 0:
            kept = [held.chunks[number] for number in range(self.pieces)]
            chunks = [NumberedChunk(one.sources, one.destinations, {}, numbering.ranks) for one in kept]  # type: ignore[arg-type]
        release_memory()
        return NumberedEdges.of(numbering, shares, chunks)

    def adjacency(
        self,
        numbered: NumberedEdges,
        order: str,
        columns: dict[str, np.dtype],
        *,
        weight: str | None,
        mirror: bool,
        skip_loops: bool,
        scratch: ScratchFolder | None = None,
    ) -> Adjacency:
        """All edges by row, in memory or in the scratch folder: each piece is read twice."""
        empty = {name: np.empty(0, dtype) for name, dtype in columns.items()}
        how = RowPlan(numbered.numbering, order, empty, weight if weight in columns else None, mirror, skip_loops)
        known = zip(numbered.rows, numbered.fingerprints, strict=True)
        pieces = [StreamedPiece(self.read, number, *one, how) for number, one in enumerate(known)]
        size, workers = numbered.numbering.size, threads.cores()
        table = (
            sorted_pieces(pieces, size, workers) if scratch is None else sorted_on_disk(pieces, size, workers, scratch)
        )
        release_memory()
        return table


@dataclass(frozen=True, eq=False)
class RowPlan:
    """How the edges of all pieces become rows."""

    ids: Numbering
    order: str
    columns: dict[str, np.ndarray]  # without values, which tell the types
    weight: str | None  # the column that is stored in the narrowest type, if it is among these
    mirror: bool
    skip_loops: bool


class StreamedPiece:
    """A piece that is read when its edges are counted, and again when they are put into their rows."""

    def __init__(self, read: Read, number: int, rows: int, fingerprint: int, how: RowPlan):
        self.read, self.number, self.rows, self.fingerprint, self.how = read, number, rows, fingerprint, how
        self.columns = how.columns

    def __len__(self) -> int:
        return self.rows * (1 + self.how.mirror)

    def count(self, shift: int, counts: np.ndarray) -> None:
        """Count the edges, and find the narrowest type of their weights."""
        weight = self.how.weight
        for one in self._slices(() if weight is None else (weight,)):
            one.count(shift, counts)
            if weight is not None:
                narrow = np.empty(0, narrowest(one.columns[weight]))
                self.columns = {**self.columns, weight: narrow}

    def scatter(self, shift: int, offsets: np.ndarray, into: Buckets) -> None:
        types = {name: values.dtype for name, values in into.columns.items()}
        for one in self._slices(tuple(types)):
            weight = self.how.weight
            if weight is not None and np.result_type(types[weight], narrowest(one.columns[weight])) != types[weight]:
                raise changed(self.number)
            columns = {name: values.astype(types[name], copy=False) for name, values in one.columns.items()}
            replace(one, columns=columns).scatter(shift, offsets, into)

    def _slices(self, columns: tuple[str, ...]) -> Iterator[EdgeSlice]:
        chunk, values = self.read(self.number, columns)
        check_unchanged(chunk, self.number, self.rows, self.fingerprint)
        values = as_told(values, self.number, {name: column.dtype for name, column in self.how.columns.items()})
        assert self.how.ids.ranks is not None
        numbered = NumberedChunk(np.asarray(chunk.sources), np.asarray(chunk.destinations), values, self.how.ids.ranks)
        keys, others = numbered.ends(self.how.order)
        yield EdgeSlice(keys, others, values, numbered.ranks, self.how.skip_loops)
        if self.how.mirror:
            yield EdgeSlice(others, keys, values, numbered.ranks, skip_loops=True)


def narrowest(weights: np.ndarray) -> np.dtype:
    """The narrowest type that holds integers exactly: a byte up to 255, else their own. Floats stay as they are, since
    most kernels read floats and would copy bytes."""
    wide = weights.dtype.kind in "iu" and weights.itemsize > 1
    fit = wide and (not len(weights) or (weights.min() >= 0 and weights.max() <= 255))
    return np.dtype(np.uint8) if fit else weights.dtype


def _fits(total: Survey, budget: int) -> bool:
    """Whether ids are integers whose bitmap, with its ranks, is small or within the budget."""
    if total.low is None or total.high is None:
        return total.id_type.kind in ("none", "integer")
    bitmap = (total.high - total.low) // 64 * WORD_BYTES
    return total.id_type.kind == "integer" and total.high < 2**63 and bitmap <= max(SMALL_BITMAP, budget)
