"""A sample of a graph's edges for estimates: all edges of a graph in memory, and a few pieces of a lazy graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.cluster.retry import retry_on_loss
from dgraph.estimates import sketch
from dgraph.frames.any_frame import is_lazy
from dgraph.partition.ids.bitmaps import IDENTITY
from dgraph.partition.ids.chunk import NumberedChunk

if TYPE_CHECKING:
    from dgraph.building.partitioned_graph import PartitionedGraph

LAZY_PIECES = 4  # pieces of a lazy frame to read


@dataclass(frozen=True, eq=False)
class Sample:
    """Sampled edges by vertex number."""

    chunk: NumberedChunk
    vertices: int  # vertices of the whole graph
    edges: int
    share: float  # fraction of all edges that the chunk holds
    exact: bool
    pieces: tuple[int, int] | None = (
        None  # of a lazy graph, if nothing else is known: how many were read, and of how many
    )

    @cached_property
    def size(self) -> int:
        """An upper bound of the vertex numbers in the chunk."""
        if self.exact:
            return self.vertices
        ends = (self.chunk.sources, self.chunk.destinations)
        return max((int(end.max()) + 1 for end in ends if len(end)), default=0)

    def folded(self, step: int) -> dict[str, np.ndarray]:
        """Keep about one edge in `step`: vertices far apart become one vertex, with the out-edges of one of them drawn
        at random. This preserves degrees, and how near neighbours are to each other in the graph's order."""
        sources, destinations = self.chunk.sources, self.chunk.destinations
        apart = np.uint32(max(1, -(-self.size // step)))
        turn, place = np.divmod(sources, apart)
        chosen = np.random.default_rng(1).integers(0, step, apart)[place] == turn
        if not 0.5 < chosen.sum() * step / max(len(sources), 1) < 2:  # a few vertices have most of the edges
            chosen = np.arange(len(sources)) % step == 0
        senders = np.zeros(self.size, bool)
        senders[sources] = True
        sides = 0 if senders[destinations].any() else apart  # keeps the two sides of a bipartite graph apart
        return {"src": place[chosen], "dst": destinations[chosen] % apart + sides}


@retry_on_loss
def sample(graph: PartitionedGraph, quick: bool = False) -> Sample:
    """Sample a graph: all edges if it is in memory, and those of a few pieces if it is lazy. Unless it must be `quick`,
    the edges and ids of all pieces are counted."""
    chosen, share, count = None, 1.0, 1
    if is_lazy(graph.input_edges.edges.frame):
        count = len(graph.input_edges.edge_pieces)
        chosen = sorted({count * i // LAZY_PIECES for i in range(LAZY_PIECES)})
        share = len(chosen) / count
    if graph.input_edges.is_read:
        chunks = graph.workers.get(
            [graph.workers.call(NumberedChunk.compact, c) for c in graph.input_edges.as_listed(chosen)]
        )
        return Sample(_joined(chunks), graph.num_vertices, graph.num_edges, share, True)
    read = graph.input_edges.id_chunks()
    chunks = graph.workers.get(read if chosen is None else [read[i] for i in chosen])
    ends = [np.concatenate([_codes(getattr(chunk, side)) for chunk in chunks]) for side in ("sources", "destinations")]
    _, numbers, seen = np.unique(np.concatenate(ends), return_inverse=True, return_counts=True)
    listed, half = len(graph.input_edges.vertices.id_range), len(ends[0])
    edges, found = int(half / share), float(len(seen))
    if share < 1 and quick:
        found = estimate_distinct(seen, share)
    elif share < 1:
        sketches = [graph.workers.call(sketch.sketch, one) for one in read]
        ((edges, registers),) = graph.workers.bring([graph.workers.reduce(sketch.join, sketches)])
        found, share = max(found, sketch.distinct(registers)), half / max(edges, 1)
    if listed:  # use numbers of the whole range, so that owners' ranges fall where they will in the graph
        numbers = np.concatenate(ends) - graph.input_edges.vertices.id_range.start
    chunk = NumberedChunk(numbers[:half].astype(np.uint32), numbers[half:].astype(np.uint32), {}, IDENTITY)
    pieces = (len(chunks), count) if share < 1 and quick else None
    return Sample(chunk, max(listed, int(found)), edges, share, share == 1, pieces)


def _codes(ids: Any) -> np.ndarray:
    return ids if isinstance(ids, np.ndarray) else pd.factorize(ids.to_pandas().astype(object))[0]


def _joined(chunks: list[NumberedChunk]) -> NumberedChunk:
    if len(chunks) == 1:
        return chunks[0]
    sources, destinations = (np.concatenate([getattr(c, side) for c in chunks]) for side in ("sources", "destinations"))
    return NumberedChunk(sources, destinations, {}, IDENTITY)


def estimate_distinct(times: np.ndarray, share: float) -> float:
    """Estimate how many distinct items there are from how many times each was seen in a share of all observations, by
    Chao's formula from those seen once and twice (Scand. J. Statist. 1984)."""
    if share >= 1:
        return float(len(times))
    once, twice = int((times == 1).sum()), int((times == 2).sum())
    return len(times) + once**2 / (2 * max(twice, 1)) * (1 - share)
