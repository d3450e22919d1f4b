"""The long search (`make fuzz-programs`): random programs, each refused or with one answer. All are tried on the
reference, many also on engines whose kernels run as plain Python, and some on everything, compiled. Counts add up over
runs in the record, and each run begins at the seed where the last one ended."""

import argparse
import random

from long_search import LongSearch, totals
from program_trials import SmallGraph, tried
from random_programs import NEEDED, Writer

GRAPHS = 40  # small graphs, whose partitions are kept for all programs
SHARE = 0.2  # of the programs must have each of NEEDED


class ProgramSearch(LongSearch):
    COUNTS = ("programs", "accepted", "refused", "agrees", "no answer", "interpreted", "compiled", "differs")
    TABLES = ("runs on", "features")

    def __init__(self, given: argparse.Namespace):
        super().__init__(given)
        self.graphs = [SmallGraph(random.Random(number)) for number in range(GRAPHS)]
        compiled_left = given.compiled - self.known["compiled"]
        self.every = max(1, (given.programs - self.known["programs"]) // compiled_left) if compiled_left > 0 else 0

    @classmethod
    def add_options(cls, options: argparse.ArgumentParser) -> None:
        options.add_argument("--programs", type=int, default=20_000, help="on the reference, with those of the record")
        options.add_argument("--compiled", type=int, default=1000, help="of those accepted, with those of the record")
        options.add_argument("--interpreted", type=int, default=10, help="every n-th program on engines; 0: none")

    def is_behind(self) -> bool:
        return self._few_programs() or self._few_compiled()

    def _few_programs(self) -> bool:
        return self.total("programs") < self.given.programs

    def _few_compiled(self) -> bool:
        return self.total("compiled") < self.given.compiled

    def _how(self, seed: int) -> str:
        late = not self._few_programs() or self.counts["programs"] >= self.every * self.counts["compiled"]
        if self._few_compiled() and late:
            return "compiled"
        return "interpreted" if self.given.interpreted and seed % self.given.interpreted == 0 else "reference"

    def once(self, seed: int) -> None:
        """One program."""
        writer, rng, how = Writer(seed), random.Random(seed), self._how(seed)
        result = tried(writer, seed, self.graphs, rng, how)
        features = self.tables["features"]
        self.counts["programs"] += 1
        self.counts[result.outcome] += 1
        features.update(writer.features)
        if result.outcome != "refused":
            self.counts["accepted"] += 1
            features.update(f"{one}, accepted" for one in writer.features)
        if result.outcome in ("agrees", "differs") and how != "reference":
            self.counts[how] += 1
            self.tables["runs on"].update(result.engines)
        if result.outcome == "differs":
            self.tell(seed, f"\n{writer.text}# " + "\n# ".join(result.found[:6]))

    @classmethod
    def summary(cls, rows: list[dict]) -> str:
        """All counts of the record, and the share of programs with each feature."""
        total, tables = totals(rows, cls.TABLES)
        features, told = tables["features"], [super().summary(rows)]
        for one in NEEDED:
            all_programs, accepted = features[one] / total["programs"], features[f"{one}, accepted"] / total["accepted"]
            few = "" if min(all_programs, accepted) >= SHARE else f", below {SHARE:.0%}"
            told.append(f"{one}: {all_programs:.0%} of all, {accepted:.0%} of those accepted{few}")
        return "\n".join(told)


if __name__ == "__main__":
    ProgramSearch.main(__doc__)
