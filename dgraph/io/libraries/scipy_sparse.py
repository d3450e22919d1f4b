"""SciPy sparse matrices to edges and back: entry (i, j) is an edge from vertex i to vertex j, counted from 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dgraph.errors import ColumnError, IdError, WeightError
from dgraph.io.edge_list import EdgeList


def from_scipy(matrix: Any, *, directed: bool = True) -> EdgeList:
    """The stored entries, explicit zeros too, or those of a NumPy array that are not zero; columns of a rectangular
    matrix are vertices after its rows.

    `directed=False` takes a symmetric matrix, and keeps each edge once.
    """
    if getattr(matrix, "ndim", 2) != 2:
        raise ColumnError(f"an array of {matrix.ndim} dimensions is no adjacency matrix (give a matrix)")
    if isinstance(matrix, np.ndarray):
        from scipy.sparse import coo_array

        matrix = coo_array(matrix)
    entries = matrix.tocoo()
    if entries.data.dtype.kind not in "biuf":
        raise WeightError(f"values of type {entries.data.dtype} cannot be weights (give real numbers)")
    rows, columns = entries.shape
    i, j, values = entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data
    if not directed:
        whole = entries.tocsr()
        if rows != columns or (whole != whole.T).nnz:
            raise WeightError("directed=False, but the matrix is not symmetric (say directed=True)")
        once = i <= j
        i, j, values = i[once], j[once], values[once]
    n = rows if rows == columns else rows + columns
    frame = pd.DataFrame({"source": i, "destination": j if rows == columns else j + rows, "weight": values})
    return EdgeList(frame, "source", "destination", "weight", directed, range(n))


def to_scipy(
    edges: pd.DataFrame,
    vertices: Any = None,
    *,
    source: str = "source",
    destination: str = "destination",
    weight: str | None = None,
    directed: bool = True,
) -> tuple[Any, np.ndarray]:
    """(CSR matrix, the id of each row in ascending order); parallel edges add up, without a weight each counts 1."""
    import scipy.sparse

    for name in (source, destination, *([weight] if weight else [])):
        if name not in edges.columns:
            raise ColumnError(f"the edges have no column {name!r} (they have {', '.join(map(str, edges.columns))})")
    ends = [edges[source].to_numpy(), edges[destination].to_numpy()]
    if vertices is not None:
        ends.append(np.asarray(vertices if isinstance(vertices, range) else vertices.iloc[:, 0]))
    if any(pd.isna(end).any() for end in ends):
        raise IdError("an id is missing (fill it in, or drop the row)")
    ends = [end for end in ends if len(end)] or ends[:1]
    ids = np.sort(pd.unique(np.concatenate(ends)))
    i, j = (pd.Index(ids).get_indexer(edges[end]) for end in (source, destination))
    values = np.ones(len(edges), np.int64) if weight is None else edges[weight].to_numpy()
    if not directed:
        back = i != j
        i, j, values = (
            np.concatenate([i, j[back]]),
            np.concatenate([j, i[back]]),
            np.concatenate([values, values[back]]),
        )
    return scipy.sparse.csr_array((values, (i, j)), shape=(len(ids), len(ids))), ids
