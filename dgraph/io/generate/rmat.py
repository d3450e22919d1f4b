"""R-MAT: skewed graphs like the web (Chakrabarti, Zhan and Faloutsos, SDM 2004), with the parameters of Graph500."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.arguments import check_flag
from dgraph.errors import OptionError
from dgraph.io.generate.generator import Columns, Generator
from dgraph.io.generate.random_streams import EDGES, SCRAMBLE, draw, stream
from dgraph.native.machine_code import cached_njit, part_of_kernels

_BITS = 21  # bits per level: a quadrant's probability is off by at most 2.4e-7
_LEVELS = 3  # levels per hash: 3 * 21 of its 64 bits


@dataclass(frozen=True)
class Rmat(Generator):
    """2**scale vertices and edge_factor edges per vertex; each bit of an edge's ends is drawn by quadrant.

    Quadrant a sets the bit of neither end, b that of the destination, c that of the source, and d = 1 - a - b - c both.
    Self loops and repeated edges may occur, as in Graph500. `permute` scrambles the ids; otherwise ids with few bits
    set have many edges. With directed=False each row stands for both directions.
    """

    scale: int
    edge_factor: int = 16
    seed: int = 1
    weights: tuple[float, float] | None = None
    a: float = 0.57
    b: float = 0.19
    c: float = 0.19
    permute: bool = True
    directed: bool = True

    def __post_init__(self) -> None:
        self._check_whole("scale", 0, 40)
        self._check_whole("edge_factor", 0, 1 << 20)
        self._check_seed_and_weights()
        check_flag("permute", self.permute)
        total = sum(self._check_real(name, 0, 1) for name in ("a", "b", "c"))
        if total > 1 + 1e-12:
            raise OptionError(f"a + b + c = {total:g}; give probabilities whose sum is at most 1 (d is the rest)")

    @property
    def num_vertices(self) -> int:
        return 1 << self.scale

    @property
    def num_indices(self) -> int:
        return self.edge_factor << self.scale

    def _fill(self, start: int, stop: int, out: Columns) -> None:
        a, ab, abc = np.rint(np.cumsum([self.a, self.b, self.c]) * (1 << _BITS)).astype(np.uint64)
        key, scramble = stream(self.seed, EDGES), stream(self.seed, SCRAMBLE)
        _draw_edges(
            key, scramble, np.uint64(start), self.scale, a, ab, abc, bool(self.permute),
            out["source"], out["destination"],
        )  # fmt: skip
        self._fill_weights(start, out)


@part_of_kernels()
def _scramble(x, key, bits, mask):
    """A bijection of [0, 2**bits): multiplications by odd numbers and right shifts, which are both invertible."""
    half = np.uint64(1) + (bits >> np.uint64(1))
    for turn in range(np.uint64(3)):
        x = ((x + key) * (draw(key, turn) | np.uint64(1))) & mask
        x ^= x >> half
    return x


@cached_njit()
def _draw_edges(key, scramble, start, scale, a, ab, abc, permute, source, destination):
    """Writes row start + k to source[k] and destination[k]."""
    bits = np.uint64(scale)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    hashes = (bits + np.uint64(_LEVELS - 1)) // np.uint64(_LEVELS)
    spare = hashes * np.uint64(_LEVELS) - bits  # levels of the last hash that are not needed
    low = np.uint64((1 << _BITS) - 1)
    for k in range(np.uint64(source.size)):
        at = (start + k) * hashes
        u = np.uint64(0)
        v = np.uint64(0)
        for j in range(hashes):
            h = draw(key, at + j)
            for _ in range(_LEVELS):
                x = h & low
                h >>= np.uint64(_BITS)
                down = np.uint64(x >= ab)
                u = (u << np.uint64(1)) | down
                v = (v << np.uint64(1)) | (np.uint64(x >= a) ^ down ^ np.uint64(x >= abc))
        u >>= spare
        v >>= spare
        if permute:
            u = _scramble(u, scramble, bits, mask)
            v = _scramble(v, scramble, bits, mask)
        source[k] = np.int64(u)
        destination[k] = np.int64(v)
