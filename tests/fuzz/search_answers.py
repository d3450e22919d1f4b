"""The long search (`make fuzz-answers`): random multigraphs, on which every operation must answer as another library or
a plain definition does, through every door and in any partitions. Counts add up over runs in the record, and each run
begins at the seed where the last one ended."""

import argparse

from answer_trials import CHECKS, Refused, Trial, cases_of, graph_of, shrunk
from distributed import Client, LocalCluster
from long_search import LongSearch, totals

ON_CLUSTER = 20  # every so many graphs are on a cluster


class AnswerSearch(LongSearch):
    COUNTS = ("graphs", "answers", "refused", "on a cluster", "wrong")
    TABLES = ("operations", "doors")

    def __init__(self, given: argparse.Namespace):
        super().__init__(given)
        self.tables["operations"].update(dict.fromkeys(CHECKS, 0))

    @classmethod
    def add_options(cls, options: argparse.ArgumentParser) -> None:
        options.add_argument("--graphs", type=int, default=2000, help="with those of the record")
        options.add_argument(
            "--each", type=int, default=200, help="answers of each operation, with those of the record"
        )
        options.add_argument("--share", type=float, default=0.15, help="of the operations that are tried on a graph")

    def run(self) -> None:
        cluster = LocalCluster(2, threads_per_worker=1, processes=False, dashboard_address=":0")
        with cluster, Client(cluster, set_as_default=False) as self.client:
            super().run()

    def is_behind(self) -> bool:
        few = min(self.total_in("operations", one) for one in CHECKS) < self.given.each
        return self.total("graphs") < self.given.graphs or few

    def once(self, seed: int) -> None:
        """All cases of one graph."""
        client = self.client if seed % ON_CLUSTER == 0 else None
        with Trial(graph_of(seed), client) as trial:
            for case in cases_of(seed, self.given.share):
                problem = trial.problem(case)
                if isinstance(problem, Refused):
                    self.counts["refused"] += 1
                    continue
                self.counts["answers"] += 1
                self.tables["operations"][case.operation] += 1
                self.tables["doors"][case.way.door] += 1
                self.counts["on a cluster"] += client is not None
                if problem is not None:
                    self.counts["wrong"] += 1
                    text = " ".join(f"{type(problem).__name__}: {problem}".split())
                    self.tell(seed, f": {text[:400]}\n{shrunk(case, problem)}")
        self.counts["graphs"] += 1

    @classmethod
    def summary(cls, rows: list[dict]) -> str:
        operations = totals(rows, cls.TABLES)[1]["operations"]
        least = min(operations, key=operations.__getitem__)
        told = f"{len(operations)} operations, each at least {operations[least]:,} times ({least})"
        return f"{super().summary(rows)}\n{told}"


if __name__ == "__main__":
    AnswerSearch.main(__doc__)
