"""CUDA kernels shared by all programs. They handle lists and flags of vertices, and mail between partitions.

Fields, including vectors, are passed as rows of unsigned integers (`words`), so one kernel copies all types of the same
width.
"""

from __future__ import annotations

import re
from itertools import product

from dgraph.codegen.cuda.cuda_head import CUDA_HEAD
from dgraph.codegen.cuda.cuda_kernels import LISTED
from dgraph.codegen.kernel_source import Source
from dgraph.codegen.text import COMMON_ARGUMENTS, Argument

FIELD_BITS = 8, 32, 64  # the widths that a field can have

LIST_KERNELS = '''
@njit
def sum_of_block(value, in_block):
    """The sum of the values of a block's threads, for its first thread."""
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
    """Count the edges of ids[lo:hi]; with hi = 0, of all listed ids, whose number the host need not know yet. A vertex
    with more than `part_size` edges is listed for each further part."""
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
    """Count the flags that are set in arrived[lo:hi]."""
    grid_size, thread, block_start = threads()
    count = int64(0)
    for v in range(lo + thread, hi, grid_size):
        count += arrived[v] != 0
    count = sum_of_block(count, thread - block_start)
    if thread == block_start:
        atomic_add(listed, 0, count)


@kernel
def list_below(lo, hi, ids, limit, queue, listed):
    """List those of ids[lo:hi] that are below a limit."""
    grid_size, thread, block_start = threads()
    for i in range(lo + thread, hi, grid_size):
        if ids[i] < limit:
            queue[next_place(listed)] = ids[i]
'''

WORD_KERNEL = '''
@kernel
def {name}_{bits}(lo, hi, {arguments}):
    """{doc}"""
    grid_size, thread, block_start = threads()
    for i in range(lo + thread, hi, grid_size):
        for c in range(words.shape[1]):
            {body}
'''

WORD_KERNELS = {  # name: arguments, docstring, and the statement for component c of row i
    "put": ("ids, words, value", "words[ids[lo:hi]] = value", "words[ids[i], c] = value"),
    "pack": ("ids, words, packed", "packed[lo:hi] = words[ids[lo:hi]]", "packed[i, c] = words[ids[i], c]"),
    "unpack": ("ids, words, packed", "words[ids[lo:hi]] = packed[lo:hi]", "words[ids[i], c] = packed[i, c]"),
    "mark_set": ("ids, words, marks", "marks[lo:hi] = words[ids[lo:hi]] != 0", "marks[i] = words[ids[i], c] != 0"),
    "mark_news": (
        "words, before, marks",
        "Mark the rows lo:hi that differ from `before`, and update `before`.",
        "if words[i, c] != before[i, c]: before[i, c], marks[i] = words[i, c], 1",
    ),
    "mark_unlike": (
        "words, value, marks",
        "Mark the rows lo:hi that differ from a value; marks[0] belongs to row lo.",
        "if words[i, c] != value: marks[i - lo] = 1",
    ),
}


def array_kernels() -> Source:
    """The source of all these kernels."""
    texts = [CUDA_HEAD, LIST_KERNELS]
    for bits, (name, (arguments, doc, body)) in product(FIELD_BITS, WORD_KERNELS.items()):
        texts.append(WORD_KERNEL.format(name=name, bits=bits, arguments=arguments, doc=doc, body=body))
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
    return known.get(name) or COMMON_ARGUMENTS[name]
