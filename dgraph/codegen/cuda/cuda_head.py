"""The names by which kernel text for CUDA calls the device: under another head the same bodies run elsewhere."""

HEAD = '''
import math

from numba import cuda
from numpy import bool_, float32, float64, inf, int32, int64, uint64

njit = cuda.jit(device=True, inline="always")
kernel = cuda.jit
one = uint64(1)  # uint64 + int64 would be a float
BLOCK = 256  # threads of a block
WARP = 32  # of which go in step


@njit
def threads():
    """The threads of the grid, and this one's number; then those of blocks before this."""
    return uint64(cuda.gridsize(1)), uint64(cuda.grid(1)), uint64(cuda.blockIdx.x) * uint64(cuda.blockDim.x)


@njit
def barrier(group_size):
    """The threads of a group wait for each other; those of a warp need not wait for the whole block."""
    if group_size > WARP:
        cuda.syncthreads()
    else:
        cuda.syncwarp()


@njit
def streamed(array, place):
    """What is read once: caches are for what is read again."""
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
    """The next place on a list: those threads of a warp that ask together take theirs by one atomic."""
    asking = cuda.activemask()
    leader = cuda.ffs(asking) - 1
    first = int64(0)
    if cuda.laneid == leader:
        first = cuda.atomic.add(counter, 0, int64(cuda.popc(asking)))
    return cuda.shfl_sync(asking, first, leader) + cuda.popc(asking & ((1 << cuda.laneid) - 1))


@njit
def is_last(finished):
    """Whether all other blocks of the grid have been here, so that what they wrote can be read; all threads know."""
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
        cuda.threadfence()  # what others have written is not read from a cache that is older
    return last
'''
