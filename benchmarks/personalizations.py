"""Eight personalizations of PageRank in one run, against one run for each, in this process and on partitions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from harness import Claim, parser_of, rmat_edges

import dgraph as dg
from dgraph.errors import AnswerError

SEVERAL = 8


def main() -> None:
    options = parser_of(__doc__, trials=3)
    options.add_argument("--scale", type=int, default=20, help="2**scale vertices; four less on partitions")
    given = options.parse_args()
    for scale, parts in ((given.scale, 1), (given.scale - 4, 3)):
        sources, destinations = rmat_edges(scale)
        frame = {"source": sources, "destination": destinations}
        names = {"source": "source", "destination": "destination", "vertices": 1 << scale}
        graph = dg.Graph.from_edges(frame, parts=parts, **names)
        wanted = [{vertex: 1.0} for vertex in np.unique(sources)[:: 1 << max(scale - 4, 0)][:SEVERAL].tolist()]

        def run(personalization: Any, graph: dg.Graph = graph) -> Any:
            return dg.pagerank(graph, personalization=personalization, max_iter=20, tol=None).by_number("pagerank")

        each = np.stack([run(one) for one in wanted], axis=1)

        def check(ranks: Any, each: np.ndarray = each) -> None:
            if not np.allclose(np.stack(ranks, axis=1) if isinstance(ranks, list) else ranks, each, rtol=1e-12):
                raise AnswerError("the ranks differ from those of a run each")

        where = "1 partition" if parts == 1 else f"{parts} partitions of this process"
        what = f"PageRank of {len(wanted)} personalizations, 20 rounds, R-MAT scale {scale}, {where}"
        claim = Claim("personalizations", what, "a run for each", 1.0)
        claim.measure((partial(run, wanted), check), (lambda: [run(one) for one in wanted], check), given.trials)  # noqa: B023


if __name__ == "__main__":
    main()
