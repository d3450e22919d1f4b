"""The names through which CUDA kernel text uses the device. With a different head, the same bodies run elsewhere."""

CUDA_HEAD = '''
import math

from numba import cuda
from numpy import bool_, float32, float64, inf, int32, int64, uint8, uint64

njit = cuda.jit(device=True, inline="always")
kernel = cuda.jit
one = uint64(1)  # uint64 + int64 would be a float
BLOCK = 256  # threads per block
WARP = 32  # threads that run in lockstep


@njit
def threads():
    """The number of threads in the grid, the number of this thread, and that of the first thread of its block."""
    return uint64(cuda.gridsize(1)), uint64(cuda.grid(1)), uint64(cuda.blockIdx.x) * uint64(cuda.blockDim.x)


@njit
def barrier(group_size):
    """Synchronise the threads of a group; a group within a warp need not wait for the whole block."""
    if group_size > WARP:
        cuda.syncthreads()
    else:
        cuda.syncwarp()


@njit
def streamed(array, place):
    """Read a value that is used only once, without keeping it in a cache."""
    return cuda.ldcs(array, place)


@njit
def atomic_add(array, place, value):
    return cuda.atomic.add(array, place, value)


@njit
def atomic_min(array, place, value):
    return cuda.atomic.min(array, place, value)


@njit
def atomic_max(array, place, value):
    return cuda.atomic.max(array, place, value)


@njit
def atomic_set(array, place, value):
    return cuda.atomic.exch(array, place, value)


@njit
def next_place(counter):
    """The next place on a list: the threads of a warp that call this together use one atomic."""
    active = cuda.activemask()
    leader = cuda.ffs(active) - 1
    first = int64(0)
    if cuda.laneid == leader:
        first = cuda.atomic.add(counter, 0, int64(cuda.popc(active)))
    return cuda.shfl_sync(active, first, leader) + cuda.popc(active & ((1 << cuda.laneid) - 1))


@njit
def is_last(finished):
    """Whether all other blocks of the grid have called this, so that their results can be read."""
    before = cuda.shared.array(1, int64)
    cuda.threadfence()
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        before[0] = cuda.atomic.add(finished, 0, 1)
        if before[0] == cuda.gridDim.x - 1:
            finished[0] = 0  # for the next kernel
    cuda.syncthreads()
    last = before[0] == cuda.gridDim.x - 1
    if last:
        cuda.threadfence()  # so that results of other blocks are not read from a stale cache
    return last
'''
