"""SciPy sparse matrices to edges and back: entry (i, j) is an edge from vertex i to vertex j, counted from 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dgraph.arguments import AUTO, is_default
from dgraph.errors import ColumnError, WeightError
from dgraph.frames.any_frame import numeric_column
from dgraph.frames.sources import WEIGHT
from dgraph.io.edge_list import EdgeList
from dgraph.partition.sum_limits import first_excess, may_exceed


def from_scipy(matrix: Any, *, directed: bool = True, weight: str | None = "auto") -> EdgeList:
    """The stored entries (explicit zeros too), or the non-zero entries of a NumPy array. The columns of a rectangular
    matrix are vertices numbered after its rows.

    `directed=False` takes a symmetric matrix, and keeps each edge once. `weight=None` leaves out the values.
    """
    if not (weight is None or is_default(weight, AUTO) or is_default(weight, WEIGHT)):
        raise ColumnError(f"weight={weight!r} must be {WEIGHT!r}, the column of the matrix's values, or None")
    if getattr(matrix, "ndim", 2) != 2:
        raise ColumnError(f"an adjacency matrix must have 2 dimensions, got {matrix.ndim}")
    if isinstance(matrix, np.ndarray):
        from scipy.sparse import coo_array

        matrix = coo_array(matrix)
    entries = matrix.tocoo()
    if weight is not None and entries.data.dtype.kind not in "biuf":
        raise WeightError(f"values of type {entries.data.dtype} cannot be weights (give real numbers)")
    rows, columns = entries.shape
    i, j, values = entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data
    if not directed:
        whole = entries.tocsr()
        if rows != columns or (whole != whole.T).nnz:
            raise WeightError("directed=False needs a symmetric matrix (pass directed=True)")
        once = i <= j
        i, j, values = i[once], j[once], values[once]
    n = rows if rows == columns else rows + columns
    frame = pd.DataFrame({"source": i, "destination": j if rows == columns else j + rows})
    if weight is None:
        return EdgeList(frame, "source", "destination", None, directed, range(n))
    return EdgeList(frame.assign(**{WEIGHT: values}), "source", "destination", WEIGHT, directed, range(n))


def to_scipy(edge_list: EdgeList) -> tuple[Any, np.ndarray]:
    """(CSR matrix, ids of the rows in ascending order) of pandas frames. Parallel edges are summed; without a weight
    each counts 1."""
    import scipy.sparse

    edges, weight = edge_list.edges, edge_list.weight
    ids = np.sort(edge_list.vertices.iloc[:, 0].to_numpy())
    i, j = (pd.Index(ids).get_indexer(edges[end]) for end in (edge_list.source, edge_list.destination))
    values = np.ones(len(edges), np.int64) if weight is None else _wide(numeric_column(edges, weight))
    if edge_list.directed is False:
        back = i != j
        i, j = np.concatenate([i, j[back]]), np.concatenate([j, i[back]])
        values = np.concatenate([values, values[back]])
    if may_exceed(values, len(values)):
        _refuse_excess(values, i, j, ids)
    return scipy.sparse.csr_array((values, (i, j)), shape=(len(ids), len(ids))), ids


def _wide(values: np.ndarray) -> np.ndarray:
    """Integers widened to 64 bits, in which they are summed."""
    kind = {"b": np.int64, "i": np.int64, "u": np.uint64}.get(values.dtype.kind)
    return values if kind is None else values.astype(kind, copy=False)


def _refuse_excess(values: np.ndarray, i: np.ndarray, j: np.ndarray, ids: np.ndarray) -> None:
    """Raise a WeightError that names the first pair of vertices whose sum of weights exceeds 64 bits."""
    order = np.lexsort((j, i))
    i, j = i[order], j[order]
    starts = np.flatnonzero(np.r_[True, (i[1:] != i[:-1]) | (j[1:] != j[:-1])])
    if (group := first_excess(values[order], starts)) is not None:
        u, v = np.asarray(ids)[[i[starts[group]], j[starts[group]]]].tolist()
        problem = f"the sum of the weights of the edges from {u!r} to {v!r} exceeds 64 bits"
        raise WeightError(f"{problem} (convert the weights to float64)")
