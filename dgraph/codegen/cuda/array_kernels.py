"""CUDA kernels that no program changes: lists and flags of vertices, and what travels between partitions.

Fields come as rows of unsigned integers (`words`, vectors too), so one kernel moves all types of a width.
"""

from __future__ import annotations

import re

from dgraph.codegen.cuda.cuda_head import HEAD
from dgraph.codegen.cuda.cuda_kernels import LISTED
from dgraph.codegen.kernel_source import Source
from dgraph.codegen.text import FIXED, Argument

WIDTHS = 8, 32, 64  # bits of a field

OF_LISTS = '''
@njit
def sum_of_block(value, in_block):
    """What the threads of a block have in all; its first thread is told."""
    tile = cuda.shared.array(BLOCK, int64)
    tile[in_block] = value
    reach = BLOCK // 2
    while reach > 0:
        barrier(BLOCK)
        if in_block < reach:
            tile[in_block] += tile[in_block + reach]
        reach = reach // 2
    return tile[0]


@kernel
def count_edges(lo, hi, ids, listed, indptr, edges, rest, senders, parts, part_size):
    """The edges of ids[lo:hi]; hi = 0 stands for as many as were listed, which the host need not know yet. Whoever has
    more than `part_size` is listed for each further part."""
    grid_size, thread, block_start = threads()
    count = int64(0)
    for i in range(lo + thread, uint64(listed[0]) if hi == 0 else hi, grid_size):
        u = ids[i]
        own = uint64(indptr[u + one] - indptr[u])
        count += int64(own)
        if own > part_size:
            more = (own - one) // part_size
            place = uint64(atomic_add(rest, 0, int64(more)))
            for part in range(more):
                senders[place + part] = u
                parts[place + part] = part + one
    count = sum_of_block(count, thread - block_start)
    if thread == block_start:
        atomic_add(edges, 0, count)


@kernel
def count_flags(lo, hi, arrived, listed):
    """How many of arrived[lo:hi] are set."""
    grid_size, thread, block_start = threads()
    count = int64(0)
    for v in range(lo + thread, hi, grid_size):
        count += arrived[v] != 0
    count = sum_of_block(count, thread - block_start)
    if thread == block_start:
        atomic_add(listed, 0, count)


@kernel
def list_below(lo, hi, ids, limit, queue, listed):
    """Those of ids[lo:hi] that are below a limit."""
    grid_size, thread, block_start = threads()
    for i in range(lo + thread, hi, grid_size):
        if ids[i] < limit:
            queue[next_place(listed)] = ids[i]
'''

OF_WORDS = '''
@kernel
def put_{bits}(lo, hi, ids, words, value):
    """words[ids[lo:hi]] = value"""
    grid_size, thread, block_start = threads()
    for i in range(lo + thread, hi, grid_size):
        for c in range(words.shape[1]):
            words[ids[i], c] = value


@kernel
def pack_{bits}(lo, hi, ids, words, packed):
    """packed[lo:hi] = words[ids[lo:hi]]"""
    grid_size, thread, block_start = threads()
    for i in range(lo + thread, hi, grid_size):
        for c in range(words.shape[1]):
            packed[i, c] = words[ids[i], c]


@kernel
def unpack_{bits}(lo, hi, ids, words, packed):
    """words[ids[lo:hi]] = packed[lo:hi]"""
    grid_size, thread, block_start = threads()
    for i in range(lo + thread, hi, grid_size):
        for c in range(words.shape[1]):
            words[ids[i], c] = packed[i, c]


@kernel
def mark_set_{bits}(lo, hi, ids, words, marks):
    """marks[lo:hi] = words[ids[lo:hi]] != 0"""
    grid_size, thread, block_start = threads()
    for i in range(lo + thread, hi, grid_size):
        marks[i] = words[ids[i], 0] != 0


@kernel
def mark_news_{bits}(lo, hi, words, before, marks):
    """Rows lo:hi that are not what they were; from now on they were what they are."""
    grid_size, thread, block_start = threads()
    for v in range(lo + thread, hi, grid_size):
        for c in range(words.shape[1]):
            if words[v, c] != before[v, c]:
                before[v, c] = words[v, c]
                marks[v] = 1


@kernel
def mark_unlike_{bits}(lo, hi, words, value, marks):
    """Rows lo:hi that are not a value; marks begin with that of row lo."""
    grid_size, thread, block_start = threads()
    for v in range(lo + thread, hi, grid_size):
        for c in range(words.shape[1]):
            if words[v, c] != value:
                marks[v - lo] = 1
'''


def array_kernels() -> Source:
    """All of them."""
    texts = [HEAD, OF_LISTS, *(OF_WORDS.replace("{bits}", str(bits)) for bits in WIDTHS)]
    kernels = {}
    for name, names in re.findall(r"@kernel\ndef (\w+)\((.*?)\):", "".join(texts)):
        kernels[name] = tuple(_argument(one, name.rpartition("_")[2]) for one in names.split(", "))
    return Source("VertexArrays", "\n\n".join(text.strip("\n") + "\n" for text in texts), kernels)


def _argument(name: str, bits: str) -> Argument:
    known = {
        **{one: Argument(one, f"uint{bits}", 2, True) for one in ("words", "packed", "before")},
        "value": Argument("value", f"uint{bits}"),
        "limit": Argument("limit", "uint64"),
        "marks": Argument("marks", "uint8", 1, True),
        "arrived": Argument("arrived", "int32", 1),
        "part_size": Argument("part_size", "uint64"),
        **{one: Argument(one, "uint32", 1, True) for one in ("senders", "parts")},
        **{one: Argument(one, "int64", 1, True) for one in (LISTED, "edges", "rest")},
    }
    return known.get(name) or FIXED[name]
