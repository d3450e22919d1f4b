"""Builds from edges in memory to partitions ready to run, against SciPy on the same arrays: R-MAT, 16 edges per vertex.

`tocsr()` also sums repeated edges, which a graph keeps; the rows without a target are SciPy without that step.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from harness import Claim, parser_of, rmat_edges, rows_of, same, sorted_pairs

import dgraph as dg


def main() -> None:
    given = parser_of(__doc__, scale=20, trials=7).parse_args()
    sources, destinations = rmat_edges(given.scale)
    frame = {"src": sources, "dst": destinations}
    ones = np.ones(len(sources), np.float32)
    expected = sorted_pairs(sources, destinations)
    shape = (1 << given.scale, 1 << given.scale)

    def ours(*orders: str) -> Any:
        return dg.Graph.from_edges(frame).partitioned(orders)

    def theirs(*forms: str, keep_repeats: bool) -> list[Any]:
        matrix = scipy.sparse.coo_matrix((ones, (sources, destinations)), shape)
        matrix.has_canonical_format = keep_repeats  # True: SciPy assumes that there are no repeats to sum
        return [getattr(matrix, form)() for form in forms]

    def check_ours(partitions: Any) -> None:
        (one,) = partitions.workers.get(list(partitions.held))
        for side, turned in ((one.out, False), (one.incoming, True)):
            if side is not None:
                ends = one.ids[rows_of(side.indptr)], one.ids[side.neighbours]
                same(sorted_pairs(*(ends[::-1] if turned else ends)), expected, "our edges")

    def check_theirs(matrices: list[Any]) -> None:
        for matrix in matrices:
            ends = np.repeat(np.stack([rows_of(matrix.indptr), matrix.indices]), matrix.data.astype(np.int64), axis=1)
            same(sorted_pairs(*(ends[::-1] if matrix.format == "csc" else ends)), expected, "SciPy's edges")

    size = f"{len(sources) / 2**20:g} M R-MAT edges in memory"
    for title, orders, forms in (
        (f"{size}, by source", ("out",), ("tocsr",)),
        (f"{size}, by source and by destination", ("out", "incoming"), ("tocsr", "tocsc")),
    ):
        calls = " + ".join(f"{form}()" for form in forms)
        for keep, target, note in ((False, 0.5, ""), (True, None, ", repeats not added up")):
            Claim("build", title, f"scipy coo_matrix {calls}{note}", target).measure(
                (partial(ours, *orders), check_ours),
                (partial(theirs, *forms, keep_repeats=keep), check_theirs),
                given.trials,
            )


if __name__ == "__main__":
    main()
