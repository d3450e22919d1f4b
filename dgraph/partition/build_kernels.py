"""The compiled loops that turn edge lists into partitions.

Every kernel releases the GIL and works on one slice, so that plain Python threads run several at once; a kernel writes
only to the places its slice owns. `Ids` in memory become numbers by `_number`: a number is `id - first`, or, when the
ids have gaps, the rank of that bit in a bitmap. Loop indices and local ids are unsigned, which spares Numba its check
for negative indices.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.machine_code import cached_njit, inlined

# A single spelling of the settings: compiled once, kept on disk, no GIL.
kernel = cached_njit()


@inlined
def _ones_below(word, bit):
    """How many bits of `word` are set below position `bit`."""
    w = word & ((np.uint64(1) << np.uint64(bit)) - np.uint64(1))
    w = w - ((w >> np.uint64(1)) & np.uint64(0x5555555555555555))
    w = (w & np.uint64(0x3333333333333333)) + ((w >> np.uint64(2)) & np.uint64(0x3333333333333333))
    w = (w + (w >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (w * np.uint64(0x0101010101010101)) >> np.uint64(56)


@inlined
def _number(identifier, first, words, before):
    """The number of an id: its distance from `first`, or its rank among the ids that occur (`words` not empty)."""
    x = np.uint64(np.int64(identifier) - first)
    if words.size == 0:
        return x
    word = x >> np.uint64(6)
    return np.uint64(before[word]) + _ones_below(words[word], x & np.uint64(63))


@kernel
def bounds(ids):
    """Smallest and largest value of a non-empty array."""
    low = high = ids[0]
    for i in range(uint64(ids.size)):
        x = ids[i]
        low = min(low, x)
        high = max(high, x)
    return low, high


@kernel
def mark(ids, first, words):
    """Set the bit of every id. One writer per bitmap."""
    for i in range(uint64(ids.size)):
        x = np.uint64(np.int64(ids[i]) - first)
        words[x >> np.uint64(6)] |= np.uint64(1) << (x & np.uint64(63))


@kernel
def count_before(words, before):
    """before[w] = bits set in all words ahead of w; returns the total."""
    total = np.uint64(0)
    for w in range(uint64(words.size)):
        before[w] = total
        word = words[w]
        total += _ones_below(word, np.uint64(63)) + (word >> np.uint64(63))
    return total


@kernel
def set_bits(words, out):
    """The positions of all set bits, ascending."""
    k = uint64(0)
    for w in range(uint64(words.size)):
        word = words[w]
        base = np.int64(w) * 64
        while word != 0:
            lowest = word & (~word + np.uint64(1))
            out[k] = base + np.int64(_ones_below(lowest - np.uint64(1), np.uint64(63)))
            k += uint64(1)
            word ^= lowest


@kernel
def numbers(ids, first, words, before, out):
    """out[i] = the number of ids[i]."""
    for i in range(uint64(ids.size)):
        out[i] = _number(ids[i], first, words, before)


@kernel
def look_up(table, codes):
    """codes[i] = table[codes[i]]."""
    for i in range(uint64(codes.size)):
        codes[i] = table[codes[i]]


@kernel
def count_degrees(keys, others, first, words, before, skip_loops, degree):
    """degree[number of keys[i]] += 1; one writer per array."""
    for i in range(uint64(keys.size)):
        if not (skip_loops and keys[i] == others[i]):
            degree[_number(keys[i], first, words, before)] += 1


# -- placing edges on partitions ---------------------------------------------------------------------------------------


@kernel
def place(sources, destinations, first, words, before, owner, rule, columns, high, out):
    """out[i] = the partition of edge i. `rule`: 0 its source's, 1 its destination's, 2 the block of both in a grid of
    `columns` columns, 3 its source's if the destination is `high`, else its destination's."""
    for i in range(uint64(sources.size)):
        u = _number(sources[i], first, words, before)
        v = _number(destinations[i], first, words, before)
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
    """counts[p] = edges that are placed on p; places beyond the last count for nothing."""
    for i in range(uint64(places.size)):
        if places[i] < counts.size and not (skip_loops and sources[i] == destinations[i]):
            counts[places[i]] += 1


@kernel
def split_ids(places, sources, destinations, skip_loops, offsets, ids, first, words, before, out):
    """out = the numbers of `ids`, those of edges that are placed on p from offsets[p] on, in order."""
    for i in range(uint64(places.size)):
        p = places[i]
        if p < offsets.size and not (skip_loops and sources[i] == destinations[i]):
            k = offsets[p]
            offsets[p] = k + 1
            out[uint64(k)] = _number(ids[i], first, words, before)


@kernel
def split_values(places, sources, destinations, skip_loops, offsets, values, out):
    """As `split_ids`, for a column."""
    for i in range(uint64(places.size)):
        p = places[i]
        if p < offsets.size and not (skip_loops and sources[i] == destinations[i]):
            k = offsets[p]
            offsets[p] = k + 1
            out[uint64(k)] = values[i]


@kernel
def localize(positions, low, high, words, before, slots, out):
    """out[i] = the local id: owned vertices are low..high, the others take the slot of their rank among the proxies."""
    for i in range(uint64(positions.size)):
        x = np.int64(positions[i])
        if low <= x < high:
            out[i] = x - low
        else:
            out[i] = slots[_number(x, 0, words, before)]


@kernel
def mark_outside(positions, low, high, words):
    """Set the bit of every position that is not in low..high."""
    for i in range(uint64(positions.size)):
        x = np.int64(positions[i])
        if x < low or x >= high:
            y = np.uint64(x)
            words[y >> np.uint64(6)] |= np.uint64(1) << (y & np.uint64(63))


@kernel
def flag_outside(positions, low, high, words, before, flag, flags):
    """flags[rank] |= flag for every position that is not in low..high."""
    for i in range(uint64(positions.size)):
        x = np.int64(positions[i])
        if x < low or x >= high:
            flags[_number(x, 0, words, before)] |= flag


# -- sorting edges by row ----------------------------------------------------------------------------------------------
# A radix sort from the top: edges go to buckets of 2**shift rows at once in their final array, then each bucket, small
# enough for the cache, is put in order by itself. It is stable, and needs one short integer an edge beside its result.


@kernel
def count_buckets(keys, others, first, words, before, skip_loops, shift, counts):
    """counts[b] = edges of this slice whose row is in bucket b."""
    s = np.uint64(shift)
    for i in range(uint64(keys.size)):
        if not (skip_loops and keys[i] == others[i]):
            counts[_number(keys[i], first, words, before) >> s] += 1


@kernel
def scatter_edges(keys, others, first, words, before, skip_loops, shift, offsets, low_out, others_out):
    """Move each edge to its bucket: its row's low bits, and the number of its other end."""
    s = np.uint64(shift)
    below = (np.uint64(1) << s) - np.uint64(1)
    for i in range(uint64(keys.size)):
        if not (skip_loops and keys[i] == others[i]):
            row = _number(keys[i], first, words, before)
            b = row >> s
            k = offsets[b]
            offsets[b] = k + 1
            low_out[uint64(k)] = row & below
            others_out[uint64(k)] = _number(others[i], first, words, before)


@kernel
def scatter_rows(indptr, neighbours, start, shift, offsets, low_out, rows_out):
    """As `scatter_edges`, for the edges of a table from `start` on: each by its neighbour, with its row."""
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
    """Move a column to the places where `scatter_edges` moved its edges."""
    s = np.uint64(shift)
    for i in range(uint64(keys.size)):
        if not (skip_loops and keys[i] == others[i]):
            b = _number(keys[i], first, words, before) >> s
            k = offsets[b]
            offsets[b] = k + 1
            values_out[uint64(k)] = values[i]


@kernel
def order_bucket(low, start, rows, targets):
    """Within one bucket: rows[r + 1] = where row r ends (absolute), targets[i] = the place of edge i in the bucket."""
    for i in range(uint64(low.size)):
        rows[uint64(low[i]) + uint64(1)] += 1
    at = np.int64(start)
    for r in range(uint64(1), uint64(rows.size)):
        n = rows[r]
        rows[r] = at  # for now: where the row starts
        at += n
    for i in range(uint64(low.size)):
        r = uint64(low[i]) + uint64(1)
        targets[i] = rows[r] - start
        rows[r] += 1


@kernel
def permute(values, targets, scratch):
    """values[targets[i]] = values[i] at once, through `scratch`."""
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
    """Row r of `out` is that of `first`, and after it that of `second`."""
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
    """out[i] = whether the pair at order[i] differs from the one before it in this order."""
    first = second = np.int64(-1)
    for i in range(uint64(order.size)):
        k = uint64(order[i])
        out[i] = i == 0 or first != np.int64(first_keys[k]) or second != np.int64(second_keys[k])
        first, second = np.int64(first_keys[k]), np.int64(second_keys[k])
