"""The long search (`make fuzz-programs`): random programs, each refused or with the same answer on every engine. Most
run as plain Python, which takes milliseconds; some are compiled, which takes seconds."""

import argparse
import collections
import contextlib
import random
import sys
import time
from pathlib import Path

import records
from interpreted import interpreted
from random_programs import Graphs, Writer, differences


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", type=int, default=20_000)
    options.add_argument("--first", type=int, default=0, help="the seed of the first program")
    options.add_argument("--seconds", type=float, default=float("inf"), help="at most so long")
    options.add_argument("--compiled", type=int, default=100, help="compile every n-th program; 0: none")
    options.add_argument("--keep", type=Path, help="file to which programs that differ are added")
    options.add_argument("--record", help="file to which a line of JSON is added")
    given = options.parse_args()
    counts, compiled, begun = collections.Counter(), 0, time.monotonic()
    for seed in range(given.first, given.first + given.programs):
        if time.monotonic() - begun > given.seconds:
            break
        if seed % 500 == given.first % 500:
            graphs = Graphs(seed)
        text, compiles = Writer(seed).program(), given.compiled > 0 and seed % given.compiled == 0
        with contextlib.nullcontext() if compiles else interpreted():
            outcome, found = differences(text, graphs, random.Random(seed))
        compiled += compiles and outcome != "refused"
        counts[outcome] += 1
        if found:
            _tell(seed, text, found, given.keep)
    row = {"first": given.first, "programs": sum(counts.values()), "compiled": compiled, **counts}
    row = {**row, "differs": counts["differs"], "seconds": round(time.monotonic() - begun)}
    sys.stdout.write(records.add(given.record, row) + "\n")
    sys.exit(bool(counts["differs"]))


def _tell(seed: int, text: str, found: list[str], keep: Path | None) -> None:
    told = f"# seed {seed}\n{text}# " + "\n# ".join(found[:6]) + "\n"
    sys.stdout.write(told)
    sys.stdout.flush()
    if keep:
        with keep.open("a") as file:
            file.write(told)


if __name__ == "__main__":
    main()
