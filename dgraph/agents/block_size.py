"""How many edges a pipeline block has (the cost model of GX-Plug, Zou et al. 2022). A block of b edges takes k1 b to
download, a + k2 b to compute and k3 b to upload, and the three go on side by side for three blocks."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

RECENT = 256  # blocks that the coefficients are fitted to
ENOUGH = 6  # blocks before there is a fit


@dataclass(frozen=True)
class Cost:
    """Seconds an edge to download (k1), compute (k2) and upload (k3), and seconds a call (a)."""

    k1: float
    k2: float
    k3: float
    a: float

    def time(self, edges: int, blocks: int) -> float:
        """Of `edges` in so many equal blocks: the model's T."""
        if blocks == 1:
            return self.in_turn(edges, 1)
        b = edges / blocks
        down, compute, up = self.k1 * b, self.a + self.k2 * b, self.k3 * b
        slowest = max(down, compute, up)
        return down + max(down, compute) + (blocks - 2) * slowest + max(compute, up) + up

    def in_turn(self, edges: int, blocks: int) -> float:
        """Without a pipeline: one stage after the other."""
        return (self.k1 + self.k2 + self.k3) * edges + self.a * blocks

    @property
    def most_gain(self) -> float:
        """No block size makes a pipeline more times faster than this."""
        slowest = max(self.k1, self.k2, self.k3)
        return (self.k1 + self.k2 + self.k3) / slowest if slowest > 0 else 1.0


def best_blocks(cost: Cost, edges: int) -> int:
    """How many blocks take the least time.

    As long as computing is the slowest stage, T is convex in b with its least value at Q; beyond, where a transfer is
    the slowest, T grows with b. So the best b is Q or where that begins, whichever is smaller, and of whole numbers of
    blocks one of its neighbours is best; or a single block, for which T is another formula.
    """
    if edges < 2:
        return 1
    transfers, slowest = cost.k1 + cost.k3, max(cost.k1, cost.k3)
    best = math.sqrt(cost.a * edges / transfers) if transfers > 0 else math.inf
    if slowest > cost.k2:
        best = min(best, cost.a / (slowest - cost.k2))
    exact = edges / best if best > 0 else edges
    below = min(max(math.floor(exact), 2), edges)
    return min((1, below, min(below + 1, edges)), key=lambda blocks: cost.time(edges, blocks))


def block_size(cost: Cost, edges: int) -> int:
    """Edges a block, rounded up so that there are no more blocks than are best."""
    return max(1, -(-edges // best_blocks(cost, edges)))


class Measured:
    """What recent blocks took, and the coefficients that fit it best."""

    def __init__(self, recent: int = RECENT):
        self.blocks: deque[tuple[int, float, float, float]] = deque(maxlen=recent)

    def add(self, edges: int, download: float, compute: float, upload: float) -> None:
        self.blocks.append((edges, download, compute, upload))

    def fit(self) -> Cost | None:
        """Least squares: lines through the origin for transfers; for computing a line with a call overhead, by relative
        errors, so that short blocks tell the overhead. None while too little is known."""
        if len(self.blocks) < ENOUGH:
            return None
        edges, download, compute, upload = np.array(self.blocks, float).T
        squares = float(edges @ edges) or 1.0
        k1, k3 = float(edges @ download) / squares, float(edges @ upload) / squares
        weight = 1 / np.maximum(compute, 1e-9) ** 2
        mean, time = np.average(edges, weights=weight), np.average(compute, weights=weight)
        away = edges - mean
        spread = float(weight @ away**2)
        k2 = float(weight @ (away * compute)) / spread if spread > 1e-9 * float(weight @ edges**2) else 0.0
        a = float(time - k2 * mean)
        if k2 <= 0 or a < 0:  # blocks of one size, or noise: all of it to the edges
            k2, a = float(edges @ compute) / squares, 0.0
        return Cost(k1, k2, k3, a)
