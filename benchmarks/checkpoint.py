"""The cost of checkpoints: PageRank in rounds, with a checkpoint to a folder every 10 supersteps, against none."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from harness import Claim, parser_of, rmat_edges

import dgraph as dg
from dgraph.errors import AnswerError

MOST = 1.05  # the maximum time, relative to the run without checkpoints


def main() -> None:
    options = parser_of(__doc__, scale=20, trials=3)
    options.add_argument("--supersteps", type=int, default=20)
    given = options.parse_args()
    sources, destinations = rmat_edges(given.scale)
    frame = {"source": sources, "destination": destinations}
    graph = dg.Graph.from_edges(frame, source="source", destination="destination", vertices=1 << given.scale)
    expected: list[np.ndarray] = []

    def run(**more: Any) -> Any:
        return dg.pagerank(graph, max_iter=given.supersteps, tol=None, engine="gas", **more)

    def kept() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return run(checkpoint=dg.Checkpoint(folder, every=10))

    def check(result: Any) -> None:
        ranks = result.by_number("pagerank")
        expected[1:] = []
        expected.append(ranks)
        if not np.allclose(ranks, expected[0], rtol=1e-12):
            raise AnswerError("the ranks differ with checkpoints")

    what = f"PageRank, {given.supersteps} supersteps, R-MAT scale {given.scale}, a checkpoint every 10"
    Claim("checkpoint", what, "the same without", MOST).measure((kept, check), (run, check), given.trials)


if __name__ == "__main__":
    main()
