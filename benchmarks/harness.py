"""One claim, its trials and its record. Trials run ours and theirs in turn, each is verified, and a claim is a ratio of
two numbers from one run: a machine that is slow today is slow for both. After GAP's `benchmark.h`.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from dgraph.bench.machine import machine, versions

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Claim:
    """`ours / theirs` is at most `target`, and at least `floor`. Without a target the row only informs."""

    name: str  # of the benchmark, and of its file of results
    what: str
    peer: str
    target: float | None
    unit: str = "s"
    floor: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)  # more to keep in the record

    def absent(self, reason: str) -> dict[str, Any]:
        """Keep that there is nothing to compare with, and why, unless an earlier run had it."""
        print(f"{self.what}\n  against {self.peer}: not run, {reason}", flush=True)
        nothing = dict.fromkeys(("ours", "theirs", "ratio", "met"))
        return self._keep({**self._heading(), **nothing, "absent": reason, "trials": 0})

    def record(self, ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
        """Print the claim with its numbers, and keep it in the benchmark's file in place of its last record."""
        middle, least = (median(ours), median(theirs)), (min(ours), min(theirs))
        ratio = middle[0] / middle[1]
        met = None if self.target is None else self.floor <= ratio <= self.target
        row = {
            **self._heading(),
            "ours": middle[0],
            "theirs": middle[1],
            "ratio": ratio,
            "met": met,
            "trials": len(ours),
            "minimum": {"ours": least[0], "theirs": least[1], "ratio": least[0] / least[1]},
            "each": {"ours": list(ours), "theirs": list(theirs)},
        }
        verdict = {None: "", True: "met", False: "NOT MET"}[met]
        limit = "none" if self.target is None else f"{self.target:g}"
        if self.floor:
            limit = f"{self.floor:g} to {limit}"
        print(f"{self.what}\n  against {self.peer}, {len(ours)} trials, all verified")
        for label, (a, b) in (("median", middle), ("minimum", least)):
            print(f"  {label:8} ours {a:10.4g}   theirs {b:10.4g} {self.unit:4} ratio {a / b:6.3f}")
        print(f"  target   {limit}   {verdict}", flush=True)
        return self._keep(row)

    def _heading(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "what": self.what,
            "peer": self.peer,
            "unit": self.unit,
            "target": self.target,
            "floor": self.floor,
            **self.facts,
            "machine": machine(),
            "versions": versions(),
            "date": date.today().isoformat(),
        }

    def _keep(self, row: dict[str, Any]) -> dict[str, Any]:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.name}.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        same = [old for old in rows if (old["what"], old["peer"]) == (self.what, self.peer)]
        if "absent" in row and any(old["ratio"] is not None for old in same):
            return row
        rows = [old for old in rows if old not in same] + [row]
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        return row


Run = Callable[[], Any]


def contest(
    claim: Claim,
    ours: Run,
    theirs: Run,
    check_ours: Callable[[Any], None],
    check_theirs: Callable[[Any], None],
    trials: int,
) -> dict[str, Any]:
    """Time both in turn, after one unmeasured round that compiles and warms; every result is verified and let go."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for trial in range(trials + 1):
        for run, check, times in ((ours, check_ours, seconds[0]), (theirs, check_theirs, seconds[1])):
            gc.collect()
            start = time.perf_counter()
            result = run()
            elapsed = time.perf_counter() - start
            check(result)
            del result
            if trial:
                times.append(elapsed)
    return claim.record(*seconds)


class Wrong(Exception):
    """A trial whose answer is not the verifier's: its time counts for nothing."""


def same(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    if not np.array_equal(found, expected):
        raise Wrong(f"{what}: {len(found)} values are not the {len(expected)} expected ones")


def sorted_pairs(sources: np.ndarray, destinations: np.ndarray) -> np.ndarray:
    """Pairs of numbers below 2**32 as one number each, sorted: equal for equal multisets of edges only."""
    pairs = sources.astype(np.uint64) << np.uint64(32) | destinations.astype(np.uint64)
    pairs.sort()
    return pairs


def rows_of(indptr: np.ndarray) -> np.ndarray:
    """The row of every entry of a compressed matrix."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def rmat_edges(scale: int, edge_factor: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the R-MAT edges that every benchmark builds from; scale 20 has 16 M."""
    from dgraph.io.generate import Rmat

    columns = Rmat(scale, edge_factor, seed=1).build()
    return columns["source"], columns["destination"]


@contextmanager
def worker_processes(workers: int = 2, **options: Any) -> Iterator[Any]:
    """The client of a cluster of processes of one thread; by default two, as Gemini's two of MPI."""
    from distributed import Client, LocalCluster

    place: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0", "host": "127.0.0.1", **options}
    with (
        LocalCluster(n_workers=workers, processes=True, **place) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
