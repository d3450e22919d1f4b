"""The long search (`make fuzz-answers`): random multigraphs, on which every operation must answer as another library or
a plain definition does, through every door and in any partitions. Counts add up over runs in the record, and each run
begins at the seed where the last one ended."""

import argparse
import collections
import sys
import time
from pathlib import Path

import records
from answer_trials import CHECKS, Refused, Trial, cases_of, graph_of, shrunk
from distributed import Client, LocalCluster

ON_CLUSTER = 20  # every so many graphs are on a cluster


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--graphs", type=int, default=2000, help="with those of the record")
    options.add_argument("--each", type=int, default=200, help="answers of each operation, with those of the record")
    options.add_argument("--seconds", type=float, default=float("inf"), help="at most so long")
    options.add_argument("--seed", type=int, default=None, help="of the first graph; by default where the record ends")
    options.add_argument("--share", type=float, default=0.15, help="of the operations that are tried on a graph")
    options.add_argument("--keep", type=Path, help="file to which cases that fail are added")
    options.add_argument("--record", help="file to which a line of JSON is added")
    given = options.parse_args()
    before = records.rows(given.record)
    search = Search(given, before)
    search.run()
    row = search.row()
    sys.stdout.write(records.add(given.record, row) + "\n")
    sys.stdout.write(summary([*before, row]) + "\n")
    sys.exit(bool(row["wrong"]))


class Search:
    """One run of the search."""

    def __init__(self, given: argparse.Namespace, before: list[dict]):
        self.given, self.begun = given, time.monotonic()
        self.first = given.seed if given.seed is not None else max((row["seeds"][1] for row in before), default=0)
        self.left = given.graphs - sum(row["graphs"] for row in before)
        self.answered, self.known = collections.Counter(), collections.Counter()
        for row in before:
            self.known.update(row["operations"])
        self.doors, self.wrong, self.refused, self.on_cluster = collections.Counter(), 0, 0, 0

    def run(self) -> None:
        """Try graphs until enough have been tried, or time is over."""
        self.next = self.first
        cluster = LocalCluster(2, threads_per_worker=1, processes=False, dashboard_address=":0")
        with cluster, Client(cluster, set_as_default=False) as client:
            while self._is_behind() and time.monotonic() - self.begun < self.given.seconds:
                self.once(self.next, client if self.next % ON_CLUSTER == 0 else None)
                self.next += 1

    def _is_behind(self) -> bool:
        few = min(self.known[one] + self.answered[one] for one in CHECKS) < self.given.each
        return self.next - self.first < self.left or few

    def once(self, seed: int, client) -> None:
        """All cases of one graph."""
        with Trial(graph_of(seed), client) as trial:
            for case in cases_of(seed, self.given.share):
                problem = trial.problem(case)
                if isinstance(problem, Refused):
                    self.refused += 1
                    continue
                self.answered[case.operation] += 1
                self.doors[case.way.door] += 1
                self.on_cluster += client is not None
                if problem is not None:
                    self.wrong += 1
                    _tell(seed, shrunk(case, problem), problem, self.given.keep)

    def row(self) -> dict:
        """What this run adds to the record."""
        return {
            "seeds": [self.first, self.next],
            "graphs": self.next - self.first,
            "answers": self.answered.total(),
            "wrong": self.wrong,
            "refused": self.refused,
            "on a cluster": self.on_cluster,
            "operations": {name: self.answered[name] for name in sorted(CHECKS)},
            "doors": dict(sorted(self.doors.items())),
            "seconds": round(time.monotonic() - self.begun),
        }


def summary(rows: list[dict]) -> str:
    """All counts of the record."""
    total, operations = collections.Counter(), collections.Counter()
    for row in rows:
        total.update({name: count for name, count in row.items() if isinstance(count, int)})
        operations.update(row["operations"])
    told = ", ".join(f"{total[name]:,} {name}" for name in ("graphs", "answers", "wrong", "refused", "on a cluster"))
    least = min(operations, key=operations.__getitem__)
    return f"{told}\n{len(operations)} operations, each at least {operations[least]:,} times ({least})"


def _tell(seed: int, case, problem: BaseException, keep: Path | None) -> None:
    text = " ".join(f"{type(problem).__name__}: {problem}".split())
    told = f"# seed {seed}: {text[:400]}\n{case}\n"
    sys.stdout.write(told)
    sys.stdout.flush()
    if keep:
        with keep.open("a") as file:
            file.write(told)


if __name__ == "__main__":
    main()
