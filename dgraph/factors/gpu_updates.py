"""A GPU that updates factors beside the threads of the CPU (experimental): both take pieces from one queue.

A block of the GPU's threads adds up the normal equations of one vertex. All ways of updating follow from these: the
gradient is their residual, and the curvature along a direction is its product with their matrix. So results are those
of the CPU, up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from inspect import getsource
from typing import Any

import numpy as np

from dgraph.codegen.cuda.cuda_head import CUDA_HEAD
from dgraph.codegen.kernel_source import Source
from dgraph.codegen.text import Argument
from dgraph.devices import probe
from dgraph.devices.device_memory import DeviceArray
from dgraph.devices.own_device import Device
from dgraph.devices.probe import CUDA
from dgraph.errors import DeviceError
from dgraph.factors import factor_updates as updates
from dgraph.factors.rating_rows import RatingRows, RatingSide
from dgraph.options import IN_PROCESS, Cuda

ROOM = 1 << 26  # bytes of equations that are on the device at once
OF_ROWS = "indptr", "others", "values"
VECTORS = 3  # that the update of a vertex needs: a gradient, a direction, and a product
NAMES = ("PRIOR", "BIAS_PRIOR", "DIAGONAL_SHARE", "MIN_CURVATURE", "MANY_RATINGS", "NEARLY_SOLVED", "STEPS")
WAYS = ("DESCEND", "SEARCH", "SOLVE", "PREFER", "APPROACH")

HEAD = '''"""Kernels that update factors of ratings on a GPU, from the normal equations of each vertex."""
'''

EQUATIONS = '''
@njit
def component(factors, u, c, components):
    """What the vertex at the other end of u is fitted to: the factors of u, and 1 for the bias."""
    if c < components:
        return factors[u, c]
    return 1.0


@kernel
def equations(lo, hi, vertices, indptr, others, values, factors, products, systems, components, way, penalty, alpha):
    """Write the upper triangles of the equations of vertices[lo:hi]; the last column is the right-hand side. A block
    of threads shares a vertex: each thread adds up one entry, over some of the ratings."""
    grid_size, thread, block_start = threads()
    block = uint64(BLOCK)
    in_block, width = thread - block_start, uint64(factors.shape[1])
    entries = width * (width + one)
    slices = max(one, block // entries)
    share = in_block // entries
    sums = cuda.shared.array(BLOCK, float64)
    for i in range(lo + block_start // block, hi, grid_size // block):
        v = uint64(vertices[i])
        first, last = uint64(indptr[v]), uint64(indptr[v + one])
        for begin in range(uint64(0), entries, block):
            entry = begin + in_block - share * entries
            c, d = entry // (width + one), entry % (width + one)
            wanted = share < slices and entry < entries and c <= d
            total = 0.0
            if wanted:
                for e in range(first + share, last, slices):
                    u, value = others[e], values[e]
                    left = component(factors, u, c, components)
                    if way >= PREFER:
                        more = max(alpha * value, 1e-300)
                        total += left * (1.0 + more) if d == width else more * left * factors[u, d]
                    elif d < width:
                        total += left * component(factors, u, d, components)
                    else:
                        for bias in range(components, width):
                            value -= factors[u, bias]
                        total += left * value
            sums[in_block] = total
            barrier(BLOCK)
            if wanted and share == 0:
                for other in range(one, slices):
                    total += sums[in_block + other * entries]
                if way >= PREFER:
                    if d < width:
                        total += products[c, d]
                    if c == d:
                        total += penalty
                elif c == d:
                    total += penalty * (float64(last - first) + PRIOR) if c < components else BIAS_PRIOR
                systems[i - lo, c, d] = total
            barrier(BLOCK)
'''

IMPROVE = '''
@njit
def multiply(system, vector, out, width):
    """out = the product of a symmetric matrix, whose upper triangle is stored, and a vector."""
    for c in range(width):
        total = 0.0
        for d in range(width):
            total += (system[d, c] if d < c else system[c, d]) * vector[d]
        out[c] = total


@njit
def inner(left, right, width):
    total = 0.0
    for c in range(width):
        total += left[c] * right[c]
    return total


@kernel
def improve(lo, hi, vertices, indptr, factors, systems, vectors, fresh, components, way, penalty, step, variance):
    """Write the improved factors of vertices[lo:hi], given the equations of each."""
    grid_size, thread, block_start = threads()
    width = int64(factors.shape[1])
    for i in range(lo + thread, hi, grid_size):
        v = uint64(vertices[i])
        ratings = float64(indptr[v + one] - indptr[v])
        system, mine = systems[i - lo], fresh[i - lo]
        if way == SOLVE or way == PREFER:
            _solve_system(system, width, mine)
            continue
        rest, direction, product = vectors[i - lo, 0], vectors[i - lo, 1], vectors[i - lo, 2]
        for c in range(width):
            mine[c] = factors[v, c]
        multiply(system, mine, product, width)
        for c in range(width):
            rest[c] = system[c, width] - product[c]
        if way == DESCEND:
            for c in range(width):
                own = penalty * (ratings + PRIOR) if c < components else BIAS_PRIOR
                mine[c] += step / (ratings * (variance if c < components else 1.0) + own) * rest[c]
        elif way == SEARCH:
            most = 0.0
            for c in range(width):
                most = max(most, system[c, c])
            flat = MIN_CURVATURE * most
            for c in range(width):
                direction[c] = rest[c] / max(system[c, c], flat) if flat > 0 else 0.0
            length = step
            if ratings < MANY_RATINGS * width:
                multiply(system, direction, product, width)
                bend = inner(direction, product, width)
                length = step * inner(direction, rest, width) / bend if bend > 0 else 0.0
            for c in range(width):
                mine[c] += length * direction[c]
        else:
            far = inner(rest, rest, width)
            for c in range(width):
                direction[c] = rest[c]
            for _ in range(STEPS):
                multiply(system, direction, product, width)
                curvature = inner(direction, product, width)
                if curvature <= 0 or far < NEARLY_SOLVED:
                    break
                length, before = far / curvature, far
                for c in range(width):
                    mine[c] += length * direction[c]
                    rest[c] -= length * product[c]
                far = inner(rest, rest, width)
                for c in range(width):
                    direction[c] = rest[c] + far / before * direction[c]
'''
ARGUMENTS = {
    **{one: Argument(one, "uint64") for one in ("lo", "hi", "components")},
    "way": Argument("way", "int64"),
    **{one: Argument(one, "float64") for one in ("penalty", "alpha", "step", "variance")},
    **{one: Argument(one, "int64", 1) for one in ("vertices", "indptr")},
    "others": Argument("others", "uint32", 1),
    "values": Argument("values", "float64", 1),
    **{one: Argument(one, "float64", 2) for one in ("factors", "products")},
    **{one: Argument(one, "float64", 3, True) for one in ("systems", "vectors")},
    "fresh": Argument("fresh", "float64", 2, True),
}


@cache
def factor_kernels() -> Source:
    """The source of these kernels."""
    constants = "\n".join(f"{name} = {getattr(updates, name)!r}" for name in (*NAMES, *WAYS))
    solve = getsource(updates._solve_system.py_func).replace("@part", "@njit", 1)
    texts = [HEAD, CUDA_HEAD, f"from math import sqrt\n\nONE = one\n{constants}\n", EQUATIONS, solve, IMPROVE]
    kernels = {}
    for text in (EQUATIONS, IMPROVE):
        name, _, names = text.partition("@kernel\ndef ")[2].partition("):")[0].partition("(")
        kernels[name] = tuple(ARGUMENTS[one] for one in names.split(", "))
    return Source("Factors", "\n\n".join(text.strip("\n") + "\n" for text in texts), kernels)


class FactorGpu:
    """The GPU of this process. Ratings are copied to it at their first update, and stay as long as they exist."""

    def __init__(self, memory: int | None):
        self.source = factor_kernels()
        self.grid = Device(self.source)
        self.memory = self.grid.memory
        self.memory.begin(memory)
        self._buffers: dict[str, DeviceArray] = {}

    def launch(self, name: str, blocks: int, values: Mapping[str, Any]) -> None:
        """Run a kernel on this many blocks of threads, at most."""
        arguments = [
            values[one.name] if one.dims else np.dtype(one.dtype).type(values[one.name])
            for one in self.source.kernels[name]
        ]
        self.grid.launch(name, min(blocks, self.grid.blocks), arguments)

    def buffer(self, name: str, *shape: int) -> DeviceArray:
        """An array on the device, which later updates use again."""
        found = self._buffers.get(name)
        if found is None or found.shape[1:] != shape[1:] or len(found) < shape[0]:
            self._buffers.pop(name, None)  # first, because there may be no memory for both
            found = self._buffers[name] = self.memory.empty(shape, np.float64)
        return found[: shape[0]]

    def copied(self, name: str, array: np.ndarray) -> DeviceArray:
        """A copy in a buffer."""
        found = self.buffer(name, *array.shape)
        self.memory.put(found, array)
        return found


@dataclass
class PieceQueue:
    """Lets the GPU of a worker, if it has one, take pieces from the queue of its CPU's threads, and counts them."""

    gpu: FactorGpu | None
    pieces = ratings = pieces_of_gpu = ratings_of_gpu = 0  # since they were last taken

    @classmethod
    def of(cls, device: Cuda | None) -> PieceQueue | None:
        """The queue of this worker, if the option `device=` asks for GPUs."""
        if device is None:
            return None
        memory = None if device.memory is None else int(device.memory)
        return cls(None if probe.missing_requirements() else FactorGpu(memory))

    def members(
        self,
        rows: RatingRows,
        side: RatingSide,
        cuts: np.ndarray,
        cursor: np.ndarray,
        factors: np.ndarray,
        fresh: np.ndarray,
        products: np.ndarray,
        way: int,
        components: int,
        how: tuple[float, float, float, float],
    ) -> list[GpuMember]:
        """Who takes pieces of a side beside the CPU's threads; the arguments are those of `factor_updates._update`."""
        self.pieces += len(cuts) - 1
        self.ratings += int(side.ratings.sum())
        if self.gpu is None:
            return []
        gpu, kept = self.gpu, {"vertices": side.vertices, **{name: getattr(rows, name) for name in OF_ROWS}}
        missing = sum(array.nbytes for array in kept.values() if not gpu.memory.has(array))
        if not gpu.memory.fits(missing):
            raise DeviceError(
                f"the ratings need {missing:,} bytes on the GPU, but dg.Cuda(memory={gpu.memory.budget}) is the limit: "
                'use more GPUs, each with a partition, or device="cpu"'
            )
        values: dict[str, Any] = {name: gpu.memory.resident_copy(array) for name, array in kept.items()}
        sent = {"factors": factors, "products": products if products.size else np.zeros((1, 1))}
        values |= {name: gpu.copied(name, array) for name, array in sent.items()}
        gpu.memory.wait()  # because the threads of the CPU change `factors` next
        values |= {"components": components, "way": way}
        values |= dict(zip(("penalty", "step", "variance", "alpha"), how, strict=True))
        return [GpuMember(self, gpu, side, cuts, cursor, fresh, values)]

    def take_counts(self) -> dict[str, int]:
        """Columns of the report: what each device has updated since this was last called."""
        found = {
            f"blocks {IN_PROCESS}": self.pieces - self.pieces_of_gpu,
            f"edges {IN_PROCESS}": self.ratings - self.ratings_of_gpu,
            f"blocks {CUDA}": self.pieces_of_gpu,
            f"edges {CUDA}": self.ratings_of_gpu,
        }
        self.pieces = self.ratings = self.pieces_of_gpu = self.ratings_of_gpu = 0
        return found


@dataclass
class GpuMember:
    """The thread of a team that has the GPU update pieces of one side, users or items."""

    queue: PieceQueue
    gpu: FactorGpu
    side: RatingSide
    cuts: np.ndarray
    cursor: np.ndarray
    fresh: np.ndarray
    values: dict[str, Any]  # of all pieces
    failure: BaseException | None = None

    def __call__(self, rank: int, size: int, signals: np.ndarray) -> None:
        width = self.fresh.shape[1]
        most = max(1, ROOM // (8 * width * (width + 1)))  # vertices at once
        try:
            while (piece := updates.next_piece(self.cuts, self.cursor, signals)) >= 0:
                first, last = self.cuts[piece : piece + 2].tolist()
                for begin in range(first, last, most):
                    self.update(begin, min(begin + most, last))
                self.queue.pieces_of_gpu += 1
                self.queue.ratings_of_gpu += int(self.side.ratings[first:last].sum())
        except BaseException as error:  # a member of a team must not raise
            self.failure = error
            self.cursor[0] = len(self.cuts)  # nobody need go on

    def update(self, first: int, last: int) -> None:
        """Update vertices[first:last] of the side."""
        gpu, width, count = self.gpu, self.fresh.shape[1], last - first
        shapes = {"systems": (count, width, width + 1), "vectors": (count, VECTORS, width), "fresh": (count, width)}
        values = {**self.values, **{name: gpu.buffer(name, *shape) for name, shape in shapes.items()}}
        values |= {"lo": first, "hi": last}
        gpu.launch("equations", count, values)
        gpu.launch("improve", -(-count // gpu.grid.block), values)
        self.fresh[self.side.vertices[first:last]] = gpu.memory.get(values["fresh"])

    def check(self) -> None:
        """Raise the error that ended this thread, if any."""
        if self.failure is not None:
            raise self.failure
