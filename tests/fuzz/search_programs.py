"""The long search (`make fuzz-programs`): random programs, each refused or with one answer. All are tried on the
reference, many also on engines whose kernels run as plain Python, and some on everything, compiled. Counts add up over
runs in the record, and each run begins at the seed where the last one ended."""

import argparse
import collections
import random
import sys
import time
from pathlib import Path

import records
from program_trials import SmallGraph, tried
from random_programs import NEEDED, Writer

GRAPHS = 40  # small graphs, whose partitions are kept for all programs
SHARE = 0.2  # of the programs must have each of NEEDED


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", type=int, default=20_000, help="on the reference, with those of the record")
    options.add_argument("--compiled", type=int, default=1000, help="of those accepted, with those of the record")
    options.add_argument("--seconds", type=float, default=float("inf"), help="at most so long")
    options.add_argument(
        "--seed", type=int, default=None, help="of the first program; by default where the record ends"
    )
    options.add_argument("--interpreted", type=int, default=10, help="every n-th program on engines; 0: none")
    options.add_argument("--keep", type=Path, help="file to which programs that differ are added")
    options.add_argument("--record", help="file to which a line of JSON is added")
    given = options.parse_args()
    before = records.rows(given.record)
    search = Search(given, before)
    search.run()
    row = search.row()
    sys.stdout.write(records.add(given.record, row) + "\n")
    sys.stdout.write(summary([*before, row]) + "\n")
    sys.exit(bool(row["differs"]))


class Search:
    """One run of the search."""

    def __init__(self, given: argparse.Namespace, before: list[dict]):
        self.given, self.begun = given, time.monotonic()
        self.first = given.seed if given.seed is not None else max((row["seeds"][1] for row in before), default=0)
        self.left = given.programs - sum(row["programs"] for row in before)
        self.compiled_left = given.compiled - sum(row["compiled"] for row in before)
        self.graphs = [SmallGraph(random.Random(number)) for number in range(GRAPHS)]
        self.counts: collections.Counter[str] = collections.Counter()
        self.features: collections.Counter[str] = collections.Counter()

    def run(self) -> None:
        """Try programs until enough have been tried, or time is over."""
        self.next = self.first
        every = max(1, self.left // self.compiled_left) if self.compiled_left > 0 else 0
        while self.counts["programs"] < self.left or self.counts["compiled"] < self.compiled_left:
            if time.monotonic() - self.begun > self.given.seconds:
                break
            wanted = self.counts["compiled"] < self.compiled_left
            behind = self.counts["programs"] >= self.left or self.counts["programs"] >= every * self.counts["compiled"]
            self.once(self.next, "compiled" if wanted and behind else self._how(self.next))
            self.next += 1

    def _how(self, seed: int) -> str:
        return "interpreted" if self.given.interpreted and seed % self.given.interpreted == 0 else "reference"

    def once(self, seed: int, how: str) -> None:
        """One program."""
        writer, rng = Writer(seed), random.Random(seed)
        result = tried(writer, seed, self.graphs, rng, how)
        self.counts["programs"] += 1
        self.counts[result.outcome] += 1
        self.features.update(writer.features)
        if result.outcome != "refused":
            self.counts["accepted"] += 1
            self.features.update(f"{one}, accepted" for one in writer.features)
        if result.outcome in ("agrees", "differs") and how != "reference":
            self.counts[how] += 1
            self.counts.update(f"on {engine}" for engine in result.engines)
        if result.outcome == "differs":
            _tell(seed, writer.text, result.found, self.given.keep)

    def row(self) -> dict:
        """What this run adds to the record."""
        outcomes = ("programs", "accepted", "refused", "agrees", "no answer", "differs", "interpreted", "compiled")
        engines = {one.removeprefix("on "): self.counts[one] for one in sorted(self.counts) if one.startswith("on ")}
        return {
            "seeds": [self.first, self.next],
            **{one: self.counts[one] for one in outcomes},
            "runs on": engines,
            "features": dict(sorted(self.features.items())),
            "seconds": round(time.monotonic() - self.begun),
        }


def summary(rows: list[dict]) -> str:
    """All counts of the record, and the share of programs with each feature."""
    total, features = collections.Counter(), collections.Counter()
    for row in rows:
        total.update({name: count for name, count in row.items() if isinstance(count, int)})
        features.update(row["features"])
    told = [
        ", ".join(f"{total[name]:,} {name}" for name in ("programs", "refused", "interpreted", "compiled", "differs"))
    ]
    for one in NEEDED:
        all_programs, accepted = features[one] / total["programs"], features[f"{one}, accepted"] / total["accepted"]
        few = "" if min(all_programs, accepted) >= SHARE else f", below {SHARE:.0%}"
        told.append(f"{one}: {all_programs:.0%} of all, {accepted:.0%} of those accepted{few}")
    return "\n".join(told)


def _tell(seed: int, text: str, found: list[str], keep: Path | None) -> None:
    told = f"# seed {seed}\n{text}# " + "\n# ".join(found[:6]) + "\n"
    sys.stdout.write(told)
    sys.stdout.flush()
    if keep:
        with keep.open("a") as file:
            file.write(told)


if __name__ == "__main__":
    main()
