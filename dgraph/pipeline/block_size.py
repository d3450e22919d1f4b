"""How many edges a pipeline block has (the cost model of GX-Plug, Zou et al. 2022). A block of b edges takes k1 b to
download, a + k2 b to compute and k3 b to upload, and the three go on side by side for three blocks. Here a transfer too
may take some time a call."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RECENT = 256  # blocks that the coefficients are fitted to
APART = 16  # and more, each of another length than the block after it
ENOUGH = 6  # blocks before there is a fit
FIRST = 1 << 16  # edges of a block before there is one
FEWEST, MOST = 1 << 10, 1 << 24  # edges of a block that the model may choose
WORTH = 0.05  # of the time of one block: what a pipeline must gain
TURNS = 4  # blocks of each daemon, where several share them


@dataclass(frozen=True)
class Cost:
    """Seconds an edge to download (k1), compute (k2) and upload (k3), and seconds a call: to compute (a) and to
    transfer (a1 and a3, which the published model does not have)."""

    k1: float
    k2: float
    k3: float
    a: float
    a1: float = 0.0
    a3: float = 0.0

    def time(self, edges: int, blocks: int) -> float:
        """Seconds that a pipeline takes for `edges` in so many equal blocks: the model's T."""
        if blocks == 1:
            return self.in_turn(edges, 1)
        b = edges / blocks
        down, compute, up = self.a1 + self.k1 * b, self.a + self.k2 * b, self.a3 + self.k3 * b
        slowest = max(down, compute, up)
        return down + max(down, compute) + (blocks - 2) * slowest + max(compute, up) + up

    def in_turn(self, edges: int, blocks: int) -> float:
        """Seconds without a pipeline: one stage after the other."""
        return (self.k1 + self.k2 + self.k3) * edges + (self.a1 + self.a + self.a3) * blocks


def best_blocks(cost: Cost, edges: int) -> int:
    """How many blocks take the least time.

    From two blocks on, T is a sum of maxima of functions that are convex in b, so it falls up to the best number of
    blocks and rises from there: the first step that does not fall is found by bisection. In the published model that is
    at b = sqrt(a d / (k1 + k3)), or before where a transfer begins to be the slowest stage. A single block is another
    formula.
    """
    if edges < 2:
        return 1
    steps = range(2, edges)
    fewest = 2 + bisect_left(steps, True, key=lambda blocks: cost.time(edges, blocks + 1) >= cost.time(edges, blocks))
    return min((1, fewest), key=lambda blocks: cost.time(edges, blocks))


def block_size(cost: Cost, edges: int) -> int:
    """Edges a block, rounded up so that there are no more blocks than are best."""
    return max(1, -(-edges // best_blocks(cost, edges)))


def size_for(
    asked: int | str | None, edges: int, costs: Sequence[Cost | None], first: int = FIRST, fewest: int = FEWEST
) -> int:
    """Edges a block for daemons of these costs: as the user asked, all edges, or by the model. A pipeline that gains
    next to nothing is not worth its threads; several daemons share the blocks, and a fast one takes more."""
    if asked is None:
        return max(1, edges)
    if isinstance(asked, int):
        return asked
    known = [cost for cost in costs if cost is not None]
    if not known:
        return first
    if len(costs) > 1:
        share = -(-edges // len(costs))
        size = min(-(-share // TURNS), *(block_size(cost, share) for cost in known))
    else:
        cost, blocks = known[0], best_blocks(known[0], edges)
        size = block_size(cost, edges) if cost.time(edges, blocks) < (1 - WORTH) * cost.time(edges, 1) else edges
    return min(max(size, fewest), MOST)


class BlockTimings:
    """What recent blocks took, and the coefficients that fit it best. Blocks at which the length changes are kept
    longer: among hundreds of one length only these tell the cost of a call from that of an edge."""

    def __init__(self, recent: int = RECENT):
        self.blocks: deque[tuple[int, float, float, float]] = deque(maxlen=recent)
        self.apart: deque[tuple[int, float, float, float]] = deque(maxlen=APART)

    def add(self, edges: int, download: float, compute: float, upload: float) -> None:
        if self.blocks and not edges / 2 < self.blocks[-1][0] < edges * 2:
            self.apart.append(self.blocks[-1])
        self.blocks.append((edges, download, compute, upload))

    def fit(self) -> Cost | None:
        """The cost, a line for each stage; None while too little is known."""
        if len(self.blocks) < ENOUGH:
            return None
        edges, *stages = np.array([*self.blocks, *self.apart], float).T
        (k1, a1), (k2, a), (k3, a3) = (fit_line(edges, seconds) for seconds in stages)
        return Cost(k1, k2, k3, a, a1, a3)


def fit_line(edges: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """Seconds an edge and seconds a call that fit best: least squares of relative errors, so that short blocks
    count."""
    weight = 1 / np.maximum(seconds, 1e-9) ** 2
    mean, time = np.average(edges, weights=weight), np.average(seconds, weights=weight)
    away = edges - mean
    spread = float(weight @ away**2)
    slope = float(weight @ (away * seconds)) / spread if spread > 1e-9 * float(weight @ edges**2) else 0.0
    call = float(time - slope * mean)
    if slope <= 0 or call < 0:  # blocks of one size, or noise: all of it to the edges
        return float(edges @ seconds) / (float(edges @ edges) or 1.0), 0.0
    return slope, call
