"""FastRP embeddings of 128 dimensions, against SciPy's sparse products of the same definition, in float32.

    .venv/bin/python benchmarks/fast_rp.py [--scale 20]

SciPy gets the random vectors ready-made; ours are drawn in the time that is measured.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from betweenness import ours_of
from harness import Claim, parser_of, rmat_edges, simple, take_turns

import dgraph as dg
from dgraph.errors import AnswerError

DIMENSIONS, FACTORS = 128, (0.0, 0.0, 1.0, 1.0)
FASTER = 1 / 1.8  # the most that ours may take, relative to theirs


def main() -> None:
    given = parser_of(__doc__, scale=20, trials=3).parse_args()
    edges = simple(*rmat_edges(given.scale), 1 << given.scale)
    graph = ours_of(edges)
    both = np.concatenate([edges.source, edges.destination]), np.concatenate([edges.destination, edges.source])
    degree = np.maximum(np.bincount(both[0], minlength=edges.vertices), 1)
    shares = (1 / degree[both[0]]).astype(np.float32)
    matrix = sp.coo_array((shares, both), (edges.vertices, edges.vertices)).tocsr()
    drawn = dg.fast_rp(graph, dimensions=DIMENSIONS, weights=[1]).by_number("embedding")

    def ours() -> np.ndarray:
        return dg.fast_rp(graph, dimensions=DIMENSIONS, weights=FACTORS).by_number("embedding")

    def theirs() -> np.ndarray:
        near, total = drawn, FACTORS[0] * drawn
        for factor in FACTORS[1:]:
            near = matrix @ near
            if factor:
                total = total + np.float32(factor) * near
        return total

    known: list[np.ndarray] = []

    def check(found: np.ndarray) -> None:
        known[:] = known or [found]
        if not np.allclose(found, known[0], rtol=1e-3, atol=1e-4):
            raise AnswerError("the two find different vectors")

    what = f"fast_rp, R-MAT scale {given.scale}, {DIMENSIONS} dimensions"
    seconds = take_turns({"ours": (ours, check), "theirs": (theirs, check)}, given.trials)
    Claim("fast_rp", what, "SciPy", FASTER).record(seconds["ours"], seconds["theirs"])


if __name__ == "__main__":
    main()
