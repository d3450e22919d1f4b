"""Compiled loops that turn edge lists into partitions.

Every kernel releases the GIL and processes one slice, so that Python threads run several at once; a kernel writes only
where its slice may write. Loop indices and local ids are unsigned, so that Numba omits its check for negative indices.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.partition.ids.id_kernels import kernel, number_of


@kernel
def count_degrees(keys, others, first, words, before, skip_loops, degree):
    """degree[number of keys[i]] += 1. Only one thread may write to an array."""
    for i in range(uint64(keys.size)):
        if not (skip_loops and keys[i] == others[i]):
            degree[number_of(keys[i], first, words, before)] += 1


# -- placing edges on partitions ---------------------------------------------------------------------------------------


@kernel
def place(sources, destinations, first, words, before, owner, rule, columns, high, out):
    """out[i] = the partition of edge i. `rule` 0: the source's owner; 1: the destination's owner; 2: both owners' block
    in a grid of `columns` columns; 3: the source's owner if the destination is `high`, else the destination's."""
    for i in range(uint64(sources.size)):
        u = number_of(sources[i], first, words, before)
        v = number_of(destinations[i], first, words, before)
        if rule == 0:
            out[i] = owner[u]
        elif rule == 1:
            out[i] = owner[v]
        elif rule == 2:
            out[i] = (owner[u] // columns) * columns + owner[v] % columns
        else:
            out[i] = owner[u] if high[v] else owner[v]


@kernel
def count_placed(places, sources, destinations, skip_loops, counts):
    """counts[p] = edges placed on p; places beyond the last partition are not counted."""
    for i in range(uint64(places.size)):
        if places[i] < counts.size and not (skip_loops and sources[i] == destinations[i]):
            counts[places[i]] += 1


@kernel
def split_ids(places, sources, destinations, skip_loops, offsets, ids, first, words, before, out):
    """Write the numbers of `ids` to `out`, grouped by partition: edges placed on p start at offsets[p], in order."""
    for i in range(uint64(places.size)):
        p = places[i]
        if p < offsets.size and not (skip_loops and sources[i] == destinations[i]):
            k = offsets[p]
            offsets[p] = k + 1
            out[uint64(k)] = number_of(ids[i], first, words, before)


@kernel
def split_values(places, sources, destinations, skip_loops, offsets, values, out):
    """Like `split_ids`, for the values of a column."""
    for i in range(uint64(places.size)):
        p = places[i]
        if p < offsets.size and not (skip_loops and sources[i] == destinations[i]):
            k = offsets[p]
            offsets[p] = k + 1
            out[uint64(k)] = values[i]


@kernel
def localize(positions, low, high, words, before, slots, out):
    """out[i] = the local id of positions[i]. Owned vertices are low..high; the slot of a proxy depends on its rank."""
    for i in range(uint64(positions.size)):
        x = np.int64(positions[i])
        if low <= x < high:
            out[i] = x - low
        else:
            out[i] = slots[number_of(x, 0, words, before)]


@kernel
def mark_outside(positions, low, high, words):
    """Set the bit of every position outside low..high."""
    for i in range(uint64(positions.size)):
        x = np.int64(positions[i])
        if x < low or x >= high:
            y = np.uint64(x)
            words[y >> np.uint64(6)] |= np.uint64(1) << (y & np.uint64(63))


@kernel
def flag_outside(positions, low, high, words, before, flag, flags):
    """flags[rank] |= flag for every position outside low..high."""
    for i in range(uint64(positions.size)):
        x = np.int64(positions[i])
        if x < low or x >= high:
            flags[number_of(x, 0, words, before)] |= flag


# -- sorting edges by row ----------------------------------------------------------------------------------------------
# A most-significant-digit radix sort. Each edge moves to its bucket of 2**shift rows in the final array; then each
# bucket, which fits in cache, is sorted alone. It is stable and needs one short integer per edge besides the result.


@kernel
def count_buckets(keys, others, first, words, before, skip_loops, shift, counts):
    """counts[b] += edges of this slice whose row is in bucket b."""
    s = np.uint64(shift)
    for i in range(uint64(keys.size)):
        if not (skip_loops and keys[i] == others[i]):
            counts[number_of(keys[i], first, words, before) >> s] += 1


@kernel
def scatter_edges(keys, others, first, words, before, skip_loops, shift, offsets, low_out, others_out):
    """Write the low bits of each edge's row, and the number of its other end, into its bucket."""
    s = np.uint64(shift)
    below = (np.uint64(1) << s) - np.uint64(1)
    for i in range(uint64(keys.size)):
        if not (skip_loops and keys[i] == others[i]):
            row = number_of(keys[i], first, words, before)
            b = row >> s
            k = offsets[b]
            offsets[b] = k + 1
            low_out[uint64(k)] = row & below
            others_out[uint64(k)] = number_of(others[i], first, words, before)


@kernel
def scatter_rows(indptr, neighbours, start, shift, offsets, low_out, rows_out):
    """Like `scatter_edges`, for a table's edges from `start` on: the key is the neighbour, the other end is the row."""
    s = np.uint64(shift)
    below = (np.uint64(1) << s) - np.uint64(1)
    i, row = uint64(0), np.searchsorted(indptr, start, side="right") - 1
    while i < neighbours.size:
        stop = min(uint64(indptr[row + 1] - start), uint64(neighbours.size))
        while i < stop:
            b = uint64(neighbours[i]) >> s
            k = offsets[b]
            offsets[b] = k + 1
            low_out[uint64(k)] = uint64(neighbours[i]) & below
            rows_out[uint64(k)] = row
            i += uint64(1)
        row += 1


@kernel
def scatter_values(keys, others, values, first, words, before, skip_loops, shift, offsets, values_out):
    """Write the values of a column to the places where `scatter_edges` wrote their edges."""
    s = np.uint64(shift)
    for i in range(uint64(keys.size)):
        if not (skip_loops and keys[i] == others[i]):
            b = number_of(keys[i], first, words, before) >> s
            k = offsets[b]
            offsets[b] = k + 1
            values_out[uint64(k)] = values[i]


@kernel
def order_bucket(low, start, rows, targets):
    """For one bucket: rows[r + 1] = the end of row r (absolute); targets[i] = the place of edge i in the bucket."""
    for i in range(uint64(low.size)):
        rows[uint64(low[i]) + uint64(1)] += 1
    at = np.int64(start)
    for r in range(uint64(1), uint64(rows.size)):
        n = rows[r]
        rows[r] = at  # the start of the row; the loop below advances it to the end
        at += n
    for i in range(uint64(low.size)):
        r = uint64(low[i]) + uint64(1)
        targets[i] = rows[r] - start
        rows[r] += 1


@kernel
def permute(values, targets, scratch):
    """values[targets[i]] = values[i] for all i, by way of `scratch`."""
    for i in range(uint64(values.size)):
        scratch[uint64(targets[i])] = values[i]
    for i in range(uint64(values.size)):
        values[i] = scratch[i]


@kernel
def expand_rows(indptr, out):
    """out[e] = the row of edge e."""
    for r in range(uint64(indptr.size - 1)):
        for e in range(uint64(indptr[r]), uint64(indptr[r + uint64(1)])):
            out[e] = r


@kernel
def join_rows(first_indptr, first, second_indptr, second, indptr, out):
    """Row r of `out` is row r of `first` followed by row r of `second`."""
    for r in range(uint64(indptr.size - 1)):
        i = uint64(indptr[r])
        for e in range(uint64(first_indptr[r]), uint64(first_indptr[r + uint64(1)])):
            out[i] = first[e]
            i += uint64(1)
        for e in range(uint64(second_indptr[r]), uint64(second_indptr[r + uint64(1)])):
            out[i] = second[e]
            i += uint64(1)


@kernel
def starts_group(first_keys, second_keys, order, out):
    """out[i] = whether the pair at order[i] differs from the pair at order[i - 1]."""
    first = second = np.int64(-1)
    for i in range(uint64(order.size)):
        k = uint64(order[i])
        out[i] = i == 0 or first != np.int64(first_keys[k]) or second != np.int64(second_keys[k])
        first, second = np.int64(first_keys[k]), np.int64(second_keys[k])
