"""Chooses the number of edges of a pipeline block by the cost model of GX-Plug (Zou et al. 2022). A block of b edges
takes k1 b to download, a + k2 b to compute and k3 b to upload, and the three stages work on three blocks concurrently.
In this version a transfer may also have a fixed cost per call."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RECENT_BLOCKS = 256  # blocks to which the coefficients are fitted
KEPT_CHANGES = 16  # further blocks that are kept, each of which differs in length from the next
FEWEST_BLOCKS = 6  # blocks needed for a fit
FIRST_SIZE = 1 << 16  # edges per block until there is a fit
FEWEST_EDGES, MOST_EDGES = 1 << 10, 1 << 24  # bounds of the edges per block that the model may choose
MIN_GAIN = 0.05  # the least gain of a pipeline, as a share of the time of a single block
BLOCKS_PER_DAEMON = 4  # blocks per daemon if several share them


@dataclass(frozen=True)
class Cost:
    """Seconds per edge to download (k1), compute (k2) and upload (k3), and seconds per call to compute (a), download
    (a1) and upload (a3); the published model has no a1 and a3."""

    k1: float
    k2: float
    k3: float
    a: float
    a1: float = 0.0
    a3: float = 0.0

    def time(self, edges: int, blocks: int) -> float:
        """Seconds that a pipeline takes for `edges` in equal blocks: T in the model."""
        if blocks == 1:
            return self.sequential_time(edges, 1)
        b = edges / blocks
        down, compute, up = self.a1 + self.k1 * b, self.a + self.k2 * b, self.a3 + self.k3 * b
        slowest = max(down, compute, up)
        return down + max(down, compute) + (blocks - 2) * slowest + max(compute, up) + up

    def sequential_time(self, edges: int, blocks: int) -> float:
        """Seconds without a pipeline, one stage after another."""
        return (self.k1 + self.k2 + self.k3) * edges + (self.a1 + self.a + self.a3) * blocks


def best_blocks(cost: Cost, edges: int) -> int:
    """The number of blocks that takes the least time.

    For two or more blocks, T is a sum of maxima of convex functions of b, so it decreases up to the best number of
    blocks and increases from there. Bisection finds the first step that does not decrease. In the published model this
    is at b = sqrt(a d / (k1 + k3)), or earlier if a transfer becomes the slowest stage. A single block has a separate
    formula.
    """
    if edges < 2:
        return 1
    steps = range(2, edges)
    fewest = 2 + bisect_left(steps, True, key=lambda blocks: cost.time(edges, blocks + 1) >= cost.time(edges, blocks))
    return min((1, fewest), key=lambda blocks: cost.time(edges, blocks))


def block_size(cost: Cost, edges: int) -> int:
    """Edges per block, rounded up so that there are no more blocks than the best number."""
    return max(1, -(-edges // best_blocks(cost, edges)))


def size_for(
    block: int | str | None,
    edges: int,
    costs: Sequence[Cost | None],
    first: int = FIRST_SIZE,
    fewest: int = FEWEST_EDGES,
) -> int:
    """Edges per block for daemons with these costs: the user's number, all edges (None), or the model's choice
    ("auto"). The model avoids a pipeline that gains next to nothing. Several daemons share the blocks, and a fast one
    takes more."""
    if block is None:
        return max(1, edges)
    if isinstance(block, int):
        return block
    known = [cost for cost in costs if cost is not None]
    if not known:
        return first
    if len(costs) > 1:
        share = -(-edges // len(costs))
        size = min(-(-share // BLOCKS_PER_DAEMON), *(block_size(cost, share) for cost in known))
    else:
        cost, blocks = known[0], best_blocks(known[0], edges)
        size = block_size(cost, edges) if cost.time(edges, blocks) < (1 - MIN_GAIN) * cost.time(edges, 1) else edges
    return min(max(size, fewest), MOST_EDGES)


class CostFit:
    """The times of recent blocks, and the coefficients that fit them best. Blocks at which the length changes are kept
    longer: among hundreds of equal length, only these separate the cost per call from the cost per edge."""

    def __init__(self) -> None:
        self.blocks: deque[tuple[int, float, float, float]] = deque(maxlen=RECENT_BLOCKS)
        self.changes: deque[tuple[int, float, float, float]] = deque(maxlen=KEPT_CHANGES)

    def add(self, edges: int, download: float, compute: float, upload: float) -> None:
        if self.blocks and not edges / 2 < self.blocks[-1][0] < edges * 2:
            self.changes.append(self.blocks[-1])
        self.blocks.append((edges, download, compute, upload))

    def fit(self) -> Cost | None:
        """The cost as a line per stage; None until there are enough blocks."""
        if len(self.blocks) < FEWEST_BLOCKS:
            return None
        edges, *stages = np.array([*self.blocks, *self.changes], float).T
        (k1, a1), (k2, a), (k3, a3) = (fit_line(edges, seconds) for seconds in stages)
        return Cost(k1, k2, k3, a, a1, a3)


def fit_line(edges: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """The best fitting seconds per edge and seconds per call: least squares of relative errors, so that short blocks
    count as much as long ones."""
    weight = 1 / np.maximum(seconds, 1e-9) ** 2
    mean, time = np.average(edges, weights=weight), np.average(seconds, weights=weight)
    deviation = edges - mean
    spread = float(weight @ deviation**2)
    slope = float(weight @ (deviation * seconds)) / spread if spread > 1e-9 * float(weight @ edges**2) else 0.0
    call = float(time - slope * mean)
    if slope <= 0 or call < 0:  # blocks of one size, or noise: attribute everything to the edges
        return float(edges @ seconds) / (float(edges @ edges) or 1.0), 0.0
    return slope, call
