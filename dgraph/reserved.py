"""Names that fields of a program cannot have: kernels, or the class itself, use them for something else."""

from __future__ import annotations

from collections.abc import Iterable

from dgraph.errors import ProgramError
from dgraph.monoid import MONOIDS, NEIGHBOURHOODS, Merge

RESERVED = (  # what functions read without declaring it, and the names in kernels
    *("id", "ids", "degree", "round", "vertices", "random", "random_seed", "math", "lo", "hi", "i", "u", "v", "e", "c"),
    *("indptr", "neighbours", "frontier", "arrived", "sending", "senders", "queue", "queued", "incoming", "one"),
    *("words", "number", "slots", "loads", "keys", "counts", "count", "changed", "size", "listed", "row_list"),
    *("group_size", "grid_size", "thread", "block_start", "group_start", "in_block", "reach", "block"),  # of CUDA
    *("group_number", "group_count", "group_ahead", "in_group", "edge_base", "edge_end", "row_low", "row_high"),
    *("parts", "part_size", "part_start", "part_end", "finished", "streamed"),
    *("kind", "along", "merge", "operation", "solver", "of", "title", "fields", "functions", "phases"),  # of classes
    *("inf", "bool_", "float32", "float64", "int32", "int64", "uint64", "float", "range", "len", "abs", "min"),
    *("inner", "uniform", "random_word", "choose", "most_frequent", "heaviest", "h_index"),
    *("cuda", "threads", "BLOCK", "barrier", "is_last", "next_place", "atomic_add", "atomic_min", "atomic_set"),
)
# beginnings of names in kernels
LOCALS = (
    *("sent", "target", "new", "from", "merged", "total", "first", "fold", "incoming", "dot", "merge", "value_of"),
    *("tile", "old", "own", "partial"),
)


def check_names(program: str, fields: Iterable[str]) -> None:
    """Refuse a field whose name would be that of something else in a kernel."""
    names = list(fields)
    taken = {*RESERVED, *(f"{word}_{name}" for name in ("message", *names) for word in LOCALS)}
    taken |= {f"{name}_before" for name in names} | {name for name in names if "__" in name}
    for name in names:
        if name in taken:
            raise ProgramError(f"{program}: the name {name!r} is taken by the library; choose another")


def check_merges(program: str, merges: Iterable[Merge]) -> None:
    """Refuse merges of which two would have one name in kernels, and a name that could not stand there."""
    known = {merge.name.lower(): merge for merge in (*MONOIDS, *NEIGHBOURHOODS)}
    for merge in merges:
        if not merge.name.isidentifier():
            raise ProgramError(f"{program}: {merge.name!r} is no name for a merge; give it one word")
        if known.setdefault(merge.name.lower(), merge) != merge:
            raise ProgramError(f"{program}: two merges are called {merge.name!r}; give one of them another name")
