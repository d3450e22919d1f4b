"""What long searches share: their options, seeds that no run repeats, and counts that add up in a record."""

import argparse
import collections
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import records


class LongSearch:
    """One run of a search, which tries one seed after another until it is no longer behind, or time is over.

    A search names its counts and its tables of counts, and says what `once` does for a seed.
    """

    COUNTS: tuple[str, ...] = ()  # names of numbers in a row of the record; the last are the faults
    TABLES: tuple[str, ...] = ()  # names of tables in a row, from names to numbers

    def __init__(self, given: argparse.Namespace):
        self.given, self.begun = given, time.monotonic()
        self.before = records.rows(given.record)
        self.known, self.known_tables = totals(self.before, self.TABLES)
        self.counts: collections.Counter[str] = collections.Counter()
        self.tables = {name: collections.Counter[str]() for name in self.TABLES}
        ends = (row["seeds"][1] for row in self.before if "seeds" in row)
        self.first = self.next = given.seed if given.seed is not None else max(ends, default=0)

    # -- what a search says --------------------------------------------------------------------------------------------

    @classmethod
    def add_options(cls, options: argparse.ArgumentParser) -> None:
        """Options that only this search has."""

    def is_behind(self) -> bool:
        """Whether there is more to try."""
        raise NotImplementedError

    def once(self, seed: int) -> None:
        """Try what a seed stands for, and count it."""
        raise NotImplementedError

    @classmethod
    def summary(cls, rows: list[dict]) -> str:
        """All counts of the record."""
        counts, _ = totals(rows, cls.TABLES)
        return ", ".join(f"{counts[name]:,} {name}" for name in cls.COUNTS)

    # -- what all searches do ------------------------------------------------------------------------------------------

    @classmethod
    def main(cls, description: str | None) -> None:
        options = argparse.ArgumentParser(description=description)
        options.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing else after so long")
        options.add_argument("--seed", type=int, help="the first; by default where the record ends")
        options.add_argument("--keep", type=Path, help="file to which what fails is added")
        options.add_argument("--record", help="file to which a line of JSON is added")
        cls.add_options(options)
        search = cls(options.parse_args())
        try:
            search.run()
        finally:  # what has been tried counts, however it ends
            faults = search.end()
        sys.exit(faults)

    def run(self) -> None:
        while self.is_behind() and time.monotonic() - self.begun < self.given.seconds:
            self.once(self.next)
            self.next += 1

    def total(self, name: str) -> int:
        """A count of this run, with those of the record."""
        return self.known[name] + self.counts[name]

    def total_in(self, table: str, name: str) -> int:
        return self.known_tables[table][name] + self.tables[table][name]

    def tell(self, seed: int, text: str) -> None:
        """Print a fault, and keep it."""
        told = f"# seed {seed}{text}\n"
        sys.stdout.write(told)
        sys.stdout.flush()
        if self.given.keep:
            with self.given.keep.open("a") as file:
                file.write(told)

    def row(self) -> dict[str, Any]:
        """What this run adds to the record."""
        return {
            "seeds": [self.first, self.next],
            **{name: self.counts[name] for name in self.COUNTS},
            **{name: dict(sorted(self.tables[name].items())) for name in self.TABLES},
            "seconds": round(time.monotonic() - self.begun),
        }

    def end(self) -> bool:
        """Add this run to the record, and print it with all counts; whether there were faults."""
        row = self.row()
        sys.stdout.write(records.add(self.given.record, row) + "\n")
        sys.stdout.write(self.summary([*self.before, row]) + "\n")
        sys.stdout.flush()
        return bool(row[self.COUNTS[-1]])


def totals(
    rows: Iterable[dict[str, Any]], tables: Iterable[str]
) -> tuple[collections.Counter[str], dict[str, collections.Counter[str]]]:
    """The sums of all numbers in rows of a record, and of some tables."""
    counts = collections.Counter[str]()
    summed = {name: collections.Counter[str]() for name in tables}
    for row in rows:
        counts.update({name: count for name, count in row.items() if isinstance(count, int)})
        for name, table in summed.items():
            table.update(row.get(name, {}))
    return counts, summed
