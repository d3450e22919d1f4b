"""DIMACS shortest-path graphs (9th challenge): `c` comments, `p sp n m`, then a line `a u v w` per arc."""

from __future__ import annotations

import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dgraph.errors import FileError, WeightError
from dgraph.io import declared_sizes, files
from dgraph.io.columnar.arrow_tables import one_based_edges
from dgraph.io.edge_list import EdgeList, keep_weight
from dgraph.io.text.dialect import BLANKS, Dialect, read_head
from dgraph.io.text.table_reader import read_table, require_ids, require_rows, write_rows

SUFFIXES = (".gr",)
MAGIC = (b"p sp ",)
COUNTS_FROM_ONE = True


def read(path: str | os.PathLike, *, weight: bool | str | None = "auto") -> EdgeList:
    """The directed arcs, with ids 1..n as in the file; `weight=None` leaves out their lengths."""
    path = os.fspath(path)
    lines = read_head(path).decode("utf-8", errors="replace").split("\n")
    place = next((at for at, line in enumerate(lines) if line.strip() and line.split()[0] != "c"), None)
    words = [] if place is None else lines[place].split()
    if place is None or len(words) != 4 or words[:2] != ["p", "sp"]:
        problem = f"expected `p sp vertices arcs`, got {lines[place or 0].strip()[:60]!r}"
        remedy = "only shortest-path graphs are read; give another format with format="
        raise FileError(problem, path=path, line=(place or 0) + 1, remedy=remedy)
    if not all(re.fullmatch("[0-9]{1,18}", word) for word in words[2:]):
        problem = f"{' '.join(words)!r} does not give sizes"
        raise FileError(problem, path=path, line=place + 1, remedy="write `p sp vertices arcs`")
    n, m = int(words[2]), int(words[3])
    declared_sizes.items(path, m, "arcs", files.length(path), each=6, line=place + 1)
    row = next((line.split() for line in lines[place + 1 :] if line.strip() and line.split()[0] != "c"), None)
    names = ("kind", "source", "destination", "weight")[: 3 if row is not None and len(row) == 3 else 4]
    kinds = {"kind": "other", "source": "integer", "destination": "integer", "weight": "number"}
    if row is not None and len(row) == 4 and re.fullmatch("-?[0-9]+", row[3]):
        kinds["weight"] = "weight"
    kinds = {name: kinds[name] for name in names}
    table = read_table(path, Dialect(BLANKS, names, skip=place + 1, comments=("c",)), kinds)
    bad = next((kind for kind in pc.unique(table["kind"]).to_pylist() if kind != "a"), "a")
    if bad != "a":
        raise FileError(f"a line starts with {str(bad)[:60]!r}", path=path, remedy="arcs are lines `a from to length`")
    require_rows(table, path, m, "arcs")
    require_ids(table, path, "arc", {"source": n, "destination": n})
    weighted = keep_weight(path, weight, "weight" in names, "the arcs have no lengths to use as weights")
    label = "weight" if weighted else None
    table = table.select(["source", "destination", *(["weight"] if weighted else [])])
    return EdgeList(table, "source", "destination", label, True, declared_sizes.vertex_range(path, 1, n + 1))


def write(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """Arcs `a u v w`; an undirected edge becomes two arcs, but a loop one. Needs ids 1..n and a weight."""
    source, destination, weights, n = one_based_edges(edge_list, path, "DIMACS")
    if weights is None:
        raise WeightError(f"{path}: DIMACS arcs have lengths, but the edges have no weight (name one, or write .mtx)")
    if edge_list.directed is False:
        back = source != destination
        source, destination = np.concatenate([source, destination[back]]), np.concatenate([destination, source[back]])
        weights = np.concatenate([weights, weights[back]])
    kind = pa.array(np.full(len(source), "a"), pa.string())
    with files.atomic(path) as stream:
        columns = {"kind": kind, "u": source, "v": destination, "w": weights}
        write_rows(columns, stream, f"p sp {n} {len(source)}\n")
