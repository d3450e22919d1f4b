"""Which ratings are held out: some that are drawn, those that a column marks, or those of the pairs in a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import uint64

from dgraph.arguments import is_number
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.building.vertex_pairs import check_known, frame_of_pairs, numbered_pairs
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import ColumnError, IdError, OptionError
from dgraph.factors.rating_rows import RatingColumns
from dgraph.native.team import kernel
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.phrases.phrases import format_count
from dgraph.solvers.compiled_draws import uniform_of_edge, word_of_round

HELD = 1  # what is drawn, as a round of the generator
BLOCK = 1 << 20  # edges whose pairs are looked up together


class HeldPairs:
    """Pairs of vertices, by number, whose ratings are held out. This is a plain class because Dask would search a
    dataclass for tasks."""

    def __init__(self, ends: tuple[np.ndarray, np.ndarray], vertices: int, directed: bool):
        self.vertices, self.directed = vertices, directed
        self.keys, self.rows = np.unique(self._keys(*ends), return_index=True)

    def _keys(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Each pair as a number; the order of its ends tells only in directed graphs."""
        low, high = (one, other) if self.directed else (np.minimum(one, other), np.maximum(one, other))
        return low.astype(np.uint64) * np.uint64(self.vertices) + high.astype(np.uint64)

    def places(self, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where pairs are in `keys`, and which of them are there."""
        keys = self._keys(one, other)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return places, self.keys[places] == keys

    def __repr__(self) -> str:
        return f"<{format_count(len(self.keys), 'pair')}>"

    def __sizeof__(self) -> int:
        return self.keys.nbytes + self.rows.nbytes


@dataclass(frozen=True)
class RatingTest:
    """What is held out: a share, which is drawn, an edge column that marks it, or pairs."""

    what: float | str | HeldPairs
    random_seed: int

    @property
    def column(self) -> str | None:
        return self.what if isinstance(self.what, str) else None

    def held(self, ratings: RatingColumns, numbers: np.ndarray, marks: np.ndarray | None) -> np.ndarray:
        """A mask of ratings, sorted by the numbers of users and items. It does not depend on the others here."""
        if marks is not None:
            return marks
        ends = numbers[ratings.users], numbers[ratings.items]
        if isinstance(self.what, HeldPairs):
            return self.what.places(*ends)[1]
        drawn = np.empty(len(ratings.values))
        _draw_ratings(self.random_seed, *ends, drawn)
        return drawn < float(self.what)

    def flags(self, marks: np.ndarray) -> np.ndarray:
        """The column that marks ratings, as booleans."""
        if marks.dtype.kind not in "biuf" or not np.isin(marks, (0, 1)).all():
            raise ColumnError(f"test={self.what!r}: the column has values other than true and false")
        return marks.astype(bool)


def rating_test(graph: PartitionedGraph, test: Any, random_seed: int) -> RatingTest:
    """The option `test=`, once it is checked."""
    if isinstance(test, str):
        columns = [name for name in graph.edge_columns if name != graph.weight]
        if test not in columns:
            has = ", ".join(map(repr, columns)) or "no other"
            raise ColumnError(
                f"test={test!r} is not a column of the edges that can mark ratings; they have {has}; keep it with "
                "columns= when you read edges from files"
            )
        return RatingTest(test, random_seed)
    if isinstance(test, dict) or hasattr(test, "columns") or hasattr(test, "column_names"):
        return RatingTest(_pairs(graph, test), random_seed)
    if isinstance(test, bool) or not (is_number(test) and 0 <= test < 1):
        raise OptionError(
            f"test={test!r} must be a number >= 0 and < 1 (the fraction of ratings to hold out), an edge column, or a "
            "frame of users and items"
        )
    return RatingTest(float(test), random_seed)


def _pairs(graph: PartitionedGraph, test: Any) -> HeldPairs:
    edges = graph.input_edges.edges
    frame = frame_of_pairs(test, (edges.source, edges.destination), "test")
    numbers = numbered_pairs(graph, frame)
    check_known(frame, numbers, "test")
    if not len(frame):
        raise OptionError("test= is a frame without rows, so nothing would be held out; pass test=0")
    pairs = HeldPairs(numbers, graph.num_vertices, graph.directed)
    lacking = np.flatnonzero(~_rated(graph, pairs))
    if len(lacking):
        row = pairs.rows[lacking].min()
        user, item = (frame[name].tolist()[row] for name in frame.columns)
        raise IdError(
            f"test= names {format_count(len(lacking), 'pair')} that the graph has no rating of, for example "
            f"({user!r}, {item!r}): give the graph all ratings, and list here those that nothing is learned from"
        )
    return pairs


@retry_on_loss
def _rated(graph: PartitionedGraph, pairs: HeldPairs) -> np.ndarray:
    """Which of the pairs have ratings."""
    workers = graph.workers
    (shared,) = workers.send([pairs])
    chunks, skips = graph.input_edges.by_number(), graph.input_edges.rules.skip_loops
    return np.logical_or.reduce(workers.get([workers.call(_found_in, chunk, shared, skips) for chunk in chunks]))


def _found_in(chunk: NumberedChunk, pairs: HeldPairs, skip_loops: bool) -> np.ndarray:
    found = np.zeros(len(pairs.keys), bool)
    for start in range(0, len(chunk), BLOCK):
        some = chunk[start : start + BLOCK].compact()
        places, there = pairs.places(some.sources, some.destinations)
        if skip_loops:
            there &= some.sources != some.destinations
        found[places[there]] = True
    return found


@kernel
def _draw_ratings(random_seed, users, items, out):
    """A number in [0, 1) for each rating, from its ends and its place among those with the same ends."""
    word, place = word_of_round(random_seed, HELD), 0
    for i in range(uint64(out.size)):
        place = place + 1 if i > 0 and users[i] == users[i - 1] and items[i] == items[i - 1] else 0
        out[i] = uniform_of_edge(word, users[i], items[i], uint64(place))
