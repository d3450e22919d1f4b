"""DIMACS shortest-path graphs (9th challenge): `c` comments, `p sp n m`, then an `a u v w` line for each arc."""

from __future__ import annotations

import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dgraph.errors import FileError, WeightError
from dgraph.io import files
from dgraph.io.columnar.arrow_tables import numbered
from dgraph.io.edge_list import EdgeList
from dgraph.io.text.dialect import plain, read_head
from dgraph.io.text.table_reader import read_table, require_rows

SUFFIXES = (".gr",)


def read(path: str | os.PathLike, *, weight: bool | str | None = None) -> EdgeList:
    """The arcs, directed, with ids 1..n as in the file; `weight=False` leaves their lengths out."""
    path = os.fspath(path)
    lines = read_head(path).decode("utf-8", errors="replace").split("\n")
    place = next((at for at, line in enumerate(lines) if line.strip() and line.split()[0] != "c"), None)
    words = [] if place is None else lines[place].split()
    if place is None or len(words) != 4 or words[:2] != ["p", "sp"]:
        shown = lines[place or 0].strip()[:60]
        raise FileError(
            f"{shown!r} where `p sp vertices arcs` is expected",
            path=path,
            line=(place or 0) + 1,
            remedy="only shortest-path graphs are read; name another format with format=",
        )
    if not all(re.fullmatch("[0-9]{1,18}", word) for word in words[2:]):
        raise FileError(
            f"{' '.join(words)!r} gives no sizes", path=path, line=place + 1, remedy="write `p sp vertices arcs`"
        )
    n, m = int(words[2]), int(words[3])
    row = next((line.split() for line in lines[place + 1 :] if line.strip() and line.split()[0] != "c"), None)
    names = ("kind", "source", "destination", "weight")[: 3 if row is not None and len(row) == 3 else 4]
    kinds = {"kind": "other", "source": "integer", "destination": "integer", "weight": "number"}
    if row is not None and len(row) == 4 and re.fullmatch("-?[0-9]+", row[3]):
        kinds["weight"] = "weight"
    kinds = {name: kinds[name] for name in names}
    table = read_table(path, plain(names, place + 1, comments=("c",)), kinds)
    strange = pc.unique(table["kind"]).to_pylist()
    if any(kind != "a" for kind in strange):
        bad = next(kind for kind in strange if kind != "a")
        raise FileError(f"a line starts with {str(bad)[:60]!r}", path=path, remedy="arcs are lines `a from to length`")
    require_rows(table, path, m, "arcs")
    for name in ("source", "destination"):
        ids = table[name].to_numpy()
        outside = (ids < 1) | (ids > n)
        if outside.any():
            at = int(outside.argmax())
            raise FileError(f"arc {at + 1} has {name} {ids[at]}", path=path, remedy=f"ids run from 1 to {n}")
    table = table.drop_columns(["kind"])
    if "weight" not in names and weight not in (None, False):
        raise WeightError(f"{path}: the arcs have no length to be the weight (leave weight= out)")
    if weight is False and "weight" in names:
        table = table.drop_columns(["weight"])
    label = "weight" if "weight" in table.column_names else None
    return EdgeList(table, "source", "destination", label, True, range(1, n + 1))


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """Arcs `a u v w`; an undirected edge becomes two arcs, a loop one. Ids must be 1..n, and a weight is needed."""
    source, destination, weights, n = numbered(edge_list, path, "DIMACS")
    if weights is None:
        raise WeightError(f"{path}: DIMACS arcs have a length, and the edges have no weight (name one, or write .mtx)")
    if edge_list.directed is False:
        back = source != destination
        source, destination = np.concatenate([source, destination[back]]), np.concatenate([destination, source[back]])
        weights = np.concatenate([weights, weights[back]])
    kind = pa.array(np.full(len(source), "a"), pa.string())
    table = pa.table({"kind": kind, "u": source, "v": destination, "w": weights})
    with files.atomic(path) as stream:
        stream.write(f"p sp {n} {len(source)}\n".encode())
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
        pyarrow.csv.write_csv(table, stream, options)
