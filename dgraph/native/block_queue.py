"""The queue from which a team takes blocks of vertices. It is a heap in which a block moves up as its key falls, so
that choosing a block costs O(log blocks). Kernels made by `codegen/descent/descent_kernel.py` call it; all threads of a
team share its arrays:

    heap     the waiting blocks, ordered by key
    place    the position of each block in the heap; below zero, its status
    keys     the key of each block
    live     for each block, the L1 norm of the changes since it was last taken
    board    counters, each on a separate cache line
    limits   the options of the call
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
STARTED = 10 * LINE  # by rank: how many blocks were done when it took its current block
SHIFT, BLOCKS, OWNED, BUDGET, SWEEP, CYCLIC, TOGETHER, BOUND, FIRST = range(9)
NEVER = np.int64(1 << 62)
ALL = np.int64(1 << 56)  # edges: more than any call reads
# Statuses in `place`. A block that is put again while a thread works on it enters the heap only when that thread is
# done, so no block has two writers.
ABSENT, AT_WORK, AGAIN = -1, -2, -3
NONE, LATER = -1, -2  # returned instead of a block: this call is over; there is nothing to do at the moment
SPINS = 200
FURTHER = 4.0  # see `last_key`; with 1, a sixth fewer edges are read, but blocks take 2.6 times as many turns
PATIENCE = 50_000.0  # nanoseconds: a slowed-down thread sleeps once it owes more than this

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
    """Wait for the lock. Threads hold it only for a few stores."""
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
    """Put block b on the heap, or move it up. The caller must hold the lock."""
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
    """Take the block with the smallest key off the heap, which must not be empty. The caller must hold the lock."""
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
    """The next block. If no block waits: LATER while other threads are at work, since they may add blocks; else
    NONE."""
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
    """The next block for this thread. With `TOGETHER`, threads meet before each block. Otherwise, threads wait only
    while one of them is still at a block and more than `BOUND` others have been done since it took that block. So no
    value is older than that."""
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
    """How many blocks had been done when the longest-running block was taken."""
    least = board[DONE]
    for rank in range(size):
        least = min(least, atomic_load(board, STARTED + LINE * rank))
    return least


@kernel
def finish(b, rank, fired, edges, pace, owed, heap, place, keys, board):
    """Mark block b as done. `pace` slows threads down for tests: nanoseconds per edge. Returns how many nanoseconds
    this thread now owes."""
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
    """The key of a block in cyclic order, counted from the block that was last taken."""
    blocks, last = limits[BLOCKS], board[LAST]
    return float(b + blocks * ((last - b) // blocks + 1))


@kernel
def last_key(b, heap, keys, board, limits):
    """The largest key of a message that block b processes in this turn; later ones wait for another turn. The distance
    is `FURTHER` times that of a block in the middle of the heap."""
    if limits[CYCLIC] or limits[SWEEP] or board[COUNT] == 0:
        return np.inf
    return keys[b] + FURTHER * max(0.0, keys[heap[board[COUNT] >> 1]] - keys[b])


@kernel
def changed(b, change, size, heap, place, keys, live, board, limits):
    """Record that the input of block b has changed by `change`. The block moves up when its changes have doubled."""
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
    """Record that a message waits in block b; the smaller its key, the better."""
    known = waits(atomic_load(place, b))
    if limits[CYCLIC]:
        if not known:
            put(b, turn(b, board, limits), heap, place, keys, board)
    elif not known or key < keys[b]:
        put(b, key, heap, place, keys, board)
