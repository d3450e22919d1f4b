"""KONECT (out.* files): `% sym|asym|bip WEIGHTS`, optionally `% edges left right`, then rows `u v [weight [time]]`.

In a bipartite file both sides count from 1: a right vertex j becomes left + j, like the columns of Matrix Market.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dgraph.errors import FileError
from dgraph.io import declared_sizes, files
from dgraph.io.columnar.arrow_tables import one_based_edges
from dgraph.io.edge_list import EdgeList, choose_columns, keep_weight
from dgraph.io.text.dialect import BLANKS, Dialect, read_head, split_line
from dgraph.io.text.table_reader import read_table, require_ids, require_rows, write_rows

SUFFIXES = (".konect",)
MAGIC = (b"% sym ", b"% asym ", b"% bip ")
COUNTS_FROM_ONE = True
_KINDS = ("sym", "asym", "bip")
_WEIGHTS = (
    "unweighted",
    "positive",
    "posweighted",
    "signed",
    "multisigned",
    "weighted",
    "multiweighted",
    "dynamic",
    "multiposweighted",
)


def read(
    path: str | os.PathLike, *, weight: bool | str | None = "auto", columns: Sequence[str] | str | None = None
) -> EdgeList:
    """The edges, with `weight` from the third column; `columns=["time"]` also keeps the fourth."""
    path = os.fspath(path)
    lines = read_head(path).decode("utf-8", errors="replace").split("\n")
    words = lines[0].lstrip("%").split()
    if not lines[0].startswith("%") or len(words) < 2 or words[0] not in _KINDS or words[1] not in _WEIGHTS:
        problem = f"expected `% sym|asym|bip WEIGHTS`, got {lines[0].strip()[:60]!r}"
        raise FileError(problem, path=path, line=1, remedy=f"WEIGHTS is one of {', '.join(_WEIGHTS)}")
    skip = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("%")), len(lines))
    size_lines = [line for line in lines[1:skip] if len(line) < 60 and re.fullmatch(r"%*\s*[0-9][0-9\s]*", line)]
    sizes = [int(number) for number in size_lines[0].lstrip("%").split()] if size_lines else []
    if sizes and words[1] != "positive":
        declared_sizes.items(path, sizes[0], "edges", files.length(path), each=4)
    count = len(split_line(lines[skip], BLANKS)) if skip < len(lines) else 2 + (words[1] != "unweighted")
    if not 2 <= count <= 4:
        raise FileError(f"a row has {count} fields", path=path, line=skip + 1, remedy="rows are `u v [weight [time]]`")
    names = ("source", "destination", "weight", "time")[:count]
    kinds = dict(zip(names, ("integer", "integer", "weight", "number"), strict=False))
    table = read_table(path, Dialect(BLANKS, names, skip=min(skip, len(lines)), comments=("%",)), kinds)
    if sizes and words[1] != "positive":  # in these files, the header may count multiplicities
        require_rows(table, path, sizes[0], "edges")
    table, n = _number(path, table, words[0], sizes)
    weighted = count > 2 and words[1] != "unweighted"
    weighted = keep_weight(path, weight, weighted, f"the file is {words[1]} and has no weights")
    chosen, label, _ = choose_columns(path, names, weight=2 if weighted else None, columns=columns)
    vertices = declared_sizes.vertex_range(path, 1, n + 1) if n is not None else None
    return EdgeList(table.select(chosen), "source", "destination", label, words[0] == "asym", vertices)


def _number(path: str, table: pa.Table, kind: str, sizes: list[int]) -> tuple[pa.Table, int | None]:
    """The table with right ids numbered after the left ones, and the number of vertices if it is known."""
    left: int | None = None
    right: int | None = None
    if len(sizes) >= 3:
        left, right = sizes[1:3] if kind == "bip" else [max(sizes[1:3])] * 2
    ends = require_ids(table, path, "edge", {"source": left, "destination": right})
    if kind != "bip":
        return table, left
    highest = [int(ids.max(initial=0)) for ids in ends]
    left = highest[0] if left is None else left
    declared_sizes.vertex_range(path, 1, left + highest[1] + 1)
    table = table.set_column(1, "destination", pc.add(table["destination"], left))
    return table, left + (highest[1] if right is None else right)


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """Writes `sym` if undirected, else `asym`. Ids must be 1..n."""
    source, destination, weights, n = one_based_edges(edge_list, path, "KONECT")
    kind = "sym" if edge_list.directed is False else "asym"
    weighting = "unweighted" if weights is None else "weighted"
    data: dict[str, np.ndarray] = {"u": source, "v": destination} | ({} if weights is None else {"w": weights})
    with files.atomic(path) as stream:
        write_rows(data, stream, f"% {kind} {weighting}\n% {len(source)} {n} {n}\n")
