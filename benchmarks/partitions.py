"""What it costs that a graph is in several partitions: every operation on four partitions of this process, and on two
worker processes, over the same on one partition, which solvers take whole.

    python benchmarks/partitions.py [--scale 17] [--trials 3] [--operations wcc,core_number]

On skewed, long and bipartite graphs, and on such whose runs take very many short rounds: points with their nearest
neighbours, and a path, which lie in no order. Every answer is verified. There are no targets: the rows say what to
expect.
"""

from __future__ import annotations

import argparse

from harness import Claim, worker_processes
from peers.contest import TITLES, Contest
from peers.ours import Ours
from peers.workloads import DIRECTED, SIMPLE, Workload, bipartite, grid, neighbours, path, rmat

HERE = "dgraph, one partition"
SLOW = 4.0  # seconds from which an operation is timed once


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=17, help="2**scale vertices, 16 edges each (17: 2 M edges)")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--operations", type=lambda text: text.split(","), default=list(TITLES))
    given = parser.parse_args()
    with worker_processes() as client:
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
