"""Builds from a Parquet file with string ids to partitions ready to run, against pandas and SciPy on the same file.

The file is written by pyarrow with default settings. Its ids are `user` and a number; the edges are R-MAT, 16 per
vertex.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse
from harness import Claim, parser_of, rmat_edges, rows_of, same, sorted_pairs

import dgraph as dg


def main() -> None:
    given = parser_of(__doc__, scale=20, trials=5).parse_args()
    sources, destinations = rmat_edges(given.scale)
    expected = sorted_pairs(sources, destinations)

    def ours() -> Any:
        return dg.read_edges(path).partitioned(("out",))

    def theirs() -> tuple[Any, Any]:
        frame = pd.read_parquet(path)
        codes, ids = pd.factorize(pd.concat([frame["src"], frame["dst"]]))
        ends = codes[: len(frame)], codes[len(frame) :]
        ones = np.ones(len(frame), np.float32)
        return scipy.sparse.coo_matrix((ones, ends), (len(ids), len(ids))).tocsr(), ids

    def check_ours(partitions: Any) -> None:
        (one,) = partitions.workers.get(list(partitions.held))
        ids = numbers_in(one.ids)
        same(sorted_pairs(ids[rows_of(one.out.indptr)], ids[one.out.neighbours]), expected, "our edges")

    def check_theirs(found: tuple[Any, Any]) -> None:
        matrix, names = found
        ids, counts = numbers_in(names), matrix.data.astype(np.int64)
        ends = ids[rows_of(matrix.indptr)], ids[matrix.indices]
        same(sorted_pairs(*(np.repeat(end, counts) for end in ends)), expected, "SciPy's edges")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        pyarrow.parquet.write_table(pa.table({"src": named(sources), "dst": named(destinations)}), path)
        what = f"{len(sources) / 2**20:g} M R-MAT edges from Parquet with string ids, by source"
        claim = Claim("build_strings", what, "pandas read_parquet + factorize + scipy tocsr()", 1.2)
        claim.measure((ours, check_ours), (theirs, check_theirs), given.trials)


def named(numbers: np.ndarray) -> pa.Array:
    """The names user0, user1 ... of numbers."""
    names = pa.array([f"user{number}" for number in range(int(numbers.max()) + 1)])
    return names.take(pa.array(numbers))


def numbers_in(names: Any) -> np.ndarray:
    """The numbers in these names."""
    return np.array([int(name[4:]) for name in (names.to_pylist() if isinstance(names, pa.Array) else names)])


if __name__ == "__main__":
    main()
