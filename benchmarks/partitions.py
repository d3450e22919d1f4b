"""The cost of several partitions: every operation on four partitions in this process, and on two worker processes,
relative to one partition, which solvers process as a whole.

    python benchmarks/partitions.py [--scale 17] [--trials 3] [--operations wcc,core_number]

The graphs are skewed, long and bipartite; two need very many short rounds: nearest neighbours of points, and a path,
both in random order. Every answer is verified. There are no targets: the rows show what to expect.
"""

from __future__ import annotations

import argparse

from harness import Claim, parser_of
from peers.contest import TITLES, Contest
from peers.ours import Ours
from peers.workloads import DIRECTED, SIMPLE, Workload, bipartite, grid, neighbours, path, rmat

from dgraph.bench.local_cluster import local_cluster

HERE = "dgraph, one partition"
SLOW = 4.0  # seconds: longer operations are timed once


def main() -> None:
    parser = parser_of(__doc__, scale=17, trials=3)
    parser.add_argument("--operations", type=lambda text: text.split(","), default=list(TITLES))
    given = parser.parse_args()
    with local_cluster(2, 1) as client:
        sides = [
            Ours(HERE, parts=1),
            Ours("dgraph, four partitions of this process", parts=4),
            Ours("dgraph, two worker processes", client=client),
        ]
        for make in (rmat, grid, bipartite, neighbours, path):
            whole = make(given.scale)
            simple = whole.simple
            for operation in given.operations:
                if operation in DIRECTED and not whole.edges.directed:
                    continue
                compare(operation, simple if operation in SIMPLE else whole, sides, given)
            for side in sides:
                side.release()


def compare(operation: str, workload: Workload, sides: list[Ours], given: argparse.Namespace) -> None:
    contest = Contest(operation, workload, given.scale, given.trials, SLOW)
    for side in sides:
        contest.enter(side.name, side)
    contest.hold()
    for name, seconds in contest.seconds.items():
        if name != HERE:
            what = f"{TITLES[operation]}, {workload.title}, {name.removeprefix('dgraph, ')}"
            Claim("partitions", what, "one partition", None).record(seconds, contest.seconds[HERE])


if __name__ == "__main__":
    main()
