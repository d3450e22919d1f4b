"""The queue from which a team takes blocks of vertices: a heap in which a block moves up as its key falls, so that
choosing a block costs O(log blocks). Kernels of `codegen/descent/descent_kernel.py` call it; all threads of a team
share its arrays.

    heap, place, keys   the blocks by key; where each is in the heap, or below zero what else it does; their keys
    live                the L1 norm of what has changed for each block since it was last taken
    board               counters, on cache lines of their own;  limits: what was asked for
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numba import types

from dgraph.native.team import (
    LINE,
    atomic_add,
    atomic_load,
    atomic_max,
    barrier,
    compare_and_swap,
    kernel,
    part,
    pass_on,
)

LOCK, COUNT, WORKING, EDGES, DONE, FIRED, STALENESS, LAST, CURSOR, TOLD = (LINE * i for i in range(10))
STARTED = 10 * LINE  # for each rank: how many blocks were done when it took the one that it works on
SHIFT, BLOCKS, OWNED, BUDGET, SWEEP, CYCLIC, TOGETHER, BOUND, FIRST = range(9)
NEVER = np.int64(1 << 62)
ALL = np.int64(1 << 56)  # looks at edges: more than any call takes
ABSENT, AT_WORK, AGAIN = -1, -2, -3  # places; a block at work that is put gets into the heap once it is done, so that
#                                      no block has two writers
NONE, LATER = -1, -2  # no block: the end of this call; nothing at the moment
SPINS = 200
FURTHER = 4.0  # of messages in order; by 1 looks at edges are a sixth fewer, but turns of blocks 2.6 times as many
PATIENCE = 50_000.0  # nanoseconds that a slow worker owes before it waits

_sleep: Any = types.ExternalFunction("Sleep" if os.name == "nt" else "usleep", types.int32(types.uint32))


def new_queue(blocks: int, threads: int) -> dict[str, np.ndarray]:
    """The arrays of an empty queue."""
    board = np.zeros(STARTED + LINE * threads, np.int64)
    board[STARTED::LINE] = NEVER
    board[LAST] = -1
    return {
        "heap": np.zeros(blocks, np.int64),
        "place": np.full(blocks, ABSENT, np.int64),
        "keys": np.zeros(blocks),
        "live": np.zeros(blocks),
        "board": board,
    }


@part
def lock(board):
    """Wait for the lock. It is held for a few stores only."""
    spins = 0
    while not compare_and_swap(board, LOCK, 0, 1):
        spins += 1
        if spins > SPINS:
            pass_on()


@part
def unlock(board):
    atomic_add(board, LOCK, -1)


@kernel
def put(b, key, heap, place, keys, board):
    """Put block b on the heap, or move it up, unless it has a better key already."""
    lock(board)
    here = place[b]
    if not waits(here) or key < keys[b]:
        keys[b] = key
        if here <= AT_WORK:
            place[b] = AGAIN
        else:
            insert(b, heap, place, keys, board)
    unlock(board)


@part
def waits(here):
    """Whether a block with this place will be taken."""
    return here >= 0 or here == AGAIN


@part
def insert(b, heap, place, keys, board):
    """Put block b on the heap, or move it up; call it under the lock."""
    i, key = place[b], keys[b]
    if i < 0:
        i = board[COUNT]
        board[COUNT] += 1
    while i > 0:
        above = (i - 1) >> 1
        other = heap[above]
        if keys[other] <= key:
            break
        heap[i], place[other] = other, i
        i = above
    heap[i], place[b] = b, i


@part
def pop(heap, place, keys, board):
    """Take the block of the least key off the heap; call it under the lock, and only if there is one."""
    first = heap[0]
    count = board[COUNT] - 1
    board[COUNT] = count
    place[first] = AT_WORK
    if count > 0:
        b = heap[count]
        key, i = keys[b], 0
        while True:
            below = 2 * i + 1
            if below >= count:
                break
            if below + 1 < count and keys[heap[below + 1]] < keys[heap[below]]:
                below += 1
            other = heap[below]
            if key <= keys[other]:
                break
            heap[i], place[other] = other, i
            i = below
        heap[i], place[b] = b, i
    return first


@kernel
def take(rank, heap, place, keys, board, limits):
    """The next block; NONE if there is none and no block at work may yet make one; else LATER."""
    lock(board)
    if limits[SWEEP]:
        b = board[CURSOR] if board[CURSOR] < limits[BLOCKS] else NONE
        board[CURSOR] += 1
    elif board[COUNT] == 0:
        b = LATER if board[WORKING] else NONE
    else:
        b = pop(heap, place, keys, board)
        if limits[CYCLIC]:
            board[LAST] = max(board[LAST], np.int64(keys[b]))
    if b >= 0:
        board[WORKING] += 1
        board[STARTED + LINE * rank] = board[DONE]
    unlock(board)
    return b


@kernel
def next_block(rank, size, signals, heap, place, keys, board, limits):
    """The next block for this thread. With `TOGETHER`, threads meet before each block. Else nobody waits, except for a
    thread that has been at one block while others did more than `BOUND`: so values are never older than that."""
    if limits[TOGETHER]:
        barrier(size, signals)
        over = board[EDGES] >= limits[BUDGET] or (board[COUNT] == 0 and not limits[SWEEP])
        over = over or (limits[SWEEP] and board[CURSOR] >= limits[BLOCKS])
        barrier(size, signals)
        b = NONE if over else take(rank, heap, place, keys, board, limits)
        return LATER if b == NONE and not over else b
    spins = 0
    while atomic_load(board, EDGES) < limits[BUDGET]:
        if board[DONE] - oldest(size, board) <= limits[BOUND]:
            b = take(rank, heap, place, keys, board, limits)
            if b != LATER:
                return b
        spins += 1
        if spins > SPINS:
            pass_on()
    return NONE


@part
def oldest(size, board):
    """How many blocks had been done when the block was taken that has now been worked on for longest."""
    least = board[DONE]
    for rank in range(size):
        least = min(least, atomic_load(board, STARTED + LINE * rank))
    return least


@kernel
def finish(b, rank, fired, edges, pace, owed, heap, place, keys, board):
    """Block b is done. Returns how many nanoseconds a thread of the given pace (nanoseconds an edge; for tests) still
    has to wait."""
    owed += pace[rank] * edges
    if owed > PATIENCE:
        _sleep(np.uint32(owed / 1000))
        owed = 0.0
    mine = STARTED + LINE * rank
    atomic_max(board, STALENESS, atomic_load(board, DONE) - board[mine])
    board[mine] = NEVER
    atomic_add(board, DONE, 1)
    atomic_add(board, FIRED, fired)
    atomic_add(board, EDGES, edges)
    lock(board)
    board[WORKING] -= 1
    if place[b] <= AT_WORK:
        again = place[b] == AGAIN
        place[b] = ABSENT
        if again:
            insert(b, heap, place, keys, board)
    unlock(board)
    return owed


@part
def turn(b, board, limits):
    """The key of a block in cyclic order: after that of the block last taken."""
    blocks, last = limits[BLOCKS], board[LAST]
    return float(b + blocks * ((last - b) // blocks + 1))


@kernel
def last_key(b, heap, keys, board, limits):
    """The largest key of a message that is worked off with block b now; later ones wait for another turn. They are so
    many times as far behind as a block in the middle of the heap."""
    if limits[CYCLIC] or limits[SWEEP] or board[COUNT] == 0:
        return np.inf
    return keys[b] + FURTHER * max(0.0, keys[heap[board[COUNT] >> 1]] - keys[b])


@kernel
def changed(b, change, size, heap, place, keys, live, board, limits):
    """What block b reads has changed by `change`. The block moves up when its changes have doubled."""
    if size > 1:
        now = atomic_add(live, b, change) + change
    else:
        now = live[b] + change
        live[b] = now
    known = waits(atomic_load(place, b))
    if limits[CYCLIC]:
        if not known:
            put(b, turn(b, board, limits), heap, place, keys, board)
    elif not known or now > -2 * keys[b]:
        put(b, -now, heap, place, keys, board)


@kernel
def improved(b, key, heap, place, keys, board, limits):
    """A message waits in block b; the smaller its key, the better."""
    known = waits(atomic_load(place, b))
    if limits[CYCLIC]:
        if not known:
            put(b, turn(b, board, limits), heap, place, keys, board)
    elif not known or key < keys[b]:
        put(b, key, heap, place, keys, board)
