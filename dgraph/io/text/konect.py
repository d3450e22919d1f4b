"""KONECT (out.* files): `% sym|asym|bip WEIGHTS`, maybe `% edges left right`, then rows `u v [weight [time]]`.

In a bipartite file both sides count from 1: a right vertex j becomes left + j, as columns do in Matrix Market.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dgraph.errors import ColumnError, FileError, WeightError
from dgraph.io import files
from dgraph.io.columnar.arrow_tables import numbered
from dgraph.io.edge_list import EdgeList
from dgraph.io.text.dialect import BLANKS, plain, read_head, split_line
from dgraph.io.text.table_reader import read_table, require_rows

SUFFIXES = (".konect",)
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
    path: str | os.PathLike, *, weight: bool | str | None = None, columns: Sequence[str] | str | None = None
) -> EdgeList:
    """The edges, with `weight` from the third column; `columns=["time"]` keeps the fourth as well."""
    path = os.fspath(path)
    lines = read_head(path).decode("utf-8", errors="replace").split("\n")
    words = lines[0].lstrip("%").split()
    if not lines[0].startswith("%") or len(words) < 2 or words[0] not in _KINDS or words[1] not in _WEIGHTS:
        shown = lines[0].strip()[:60]
        raise FileError(
            f"{shown!r} where `% sym|asym|bip WEIGHTS` is expected",
            path=path,
            line=1,
            remedy=f"WEIGHTS is one of {', '.join(_WEIGHTS)}",
        )
    skip = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("%")), len(lines))
    sizes: list[int] | None = None
    for line in lines[1:skip]:
        numbers = line.lstrip("%").split()
        if (
            sizes is None
            and numbers
            and all(number.isascii() and number.isdigit() for number in numbers)
            and len(line) < 60
        ):
            sizes = [int(number) for number in numbers]
    count = len(split_line(lines[skip], BLANKS)) if skip < len(lines) else 2 + (words[1] != "unweighted")
    if not 2 <= count <= 4:
        raise FileError(f"{count} fields in a row", path=path, line=skip + 1, remedy="rows are `u v [weight [time]]`")
    names = ("source", "destination", "weight", "time")[:count]
    kinds = dict(zip(names, ("integer", "integer", "weight", "number"), strict=False))
    table = read_table(path, plain(names, min(skip, len(lines)), comments=("%",)), kinds)
    if sizes and words[1] != "positive":  # there, edges may count the multiplicities
        require_rows(table, path, sizes[0], "edges")
    table, n = _number(path, table, words[0], sizes)
    kept = ["source", "destination"]
    weighted = count > 2 and words[1] != "unweighted" and weight is not False
    if weight not in (None, False) and not weighted:
        raise WeightError(f"{path}: the file is {words[1]} and has no weights (leave weight= out)")
    kept += ["weight"] if weighted else []
    for column in names[2:] if columns == "all" else columns or ():
        if column not in names:
            raise ColumnError(f"{path}: there is no column {column!r} (there are {', '.join(names)})")
        kept += [column] if column not in kept else []
    label = "weight" if weighted else None
    vertices = range(1, n + 1) if n is not None else None
    return EdgeList(table.select(kept), "source", "destination", label, words[0] == "asym", vertices)


def _number(path: str, table: pa.Table, kind: str, sizes: list[int] | None) -> tuple[pa.Table, int | None]:
    """The table with right ids moved beyond the left ones, and the number of vertices if it is known."""
    ends = {name: table[name].to_numpy() for name in ("source", "destination")}
    limits: dict[str, int | None] = {"source": None, "destination": None}
    if sizes and len(sizes) >= 3:
        limits = dict(zip(ends, sizes[1:3] if kind == "bip" else [max(sizes[1:3])] * 2, strict=True))
    for name, ids in ends.items():
        limit = limits[name]
        outside = (ids < 1) | (ids > limit if limit is not None else False)
        if outside.any():
            at = int(outside.argmax())
            remedy = "ids count from 1" + (f" to {limit}" if limit is not None else "")
            raise FileError(f"edge {at + 1} has {name} {ids[at]}", path=path, remedy=remedy)
    left, right = limits["source"], limits["destination"]
    if kind != "bip":
        return table, left
    left = int(ends["source"].max(initial=0)) if left is None else left
    table = table.set_column(1, "destination", pc.add(table["destination"], left))
    return table, left + (int(ends["destination"].max(initial=0)) if right is None else right)


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """`sym` when undirected, else `asym`; ids must be 1..n."""
    source, destination, weights, n = numbered(edge_list, path, "KONECT")
    kind = "sym" if edge_list.directed is False else "asym"
    said = "unweighted" if weights is None else "weighted"
    data: dict[str, np.ndarray] = {"u": source, "v": destination} | ({} if weights is None else {"w": weights})
    with files.atomic(path) as stream:
        stream.write(f"% {kind} {said}\n% {len(source)} {n} {n}\n".encode())
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
        pyarrow.csv.write_csv(pa.table(data), stream, options)
