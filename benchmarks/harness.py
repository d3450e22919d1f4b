"""What the benchmarks in this folder share: trials in turn, claims and their records, options, processes, and the edges
that they build from.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np

from dgraph.bench.machine import machine, versions
from dgraph.bench.resources import timed
from dgraph.bench.table import as_text, limit_text
from dgraph.bench.targets import is_met
from dgraph.errors import AnswerError
from dgraph.io.generate import Rmat
from dgraph.testing.verify import Edges

RESULTS = Path(__file__).parent / "results"
sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))  # what benchmarks share with tests

Name = TypeVar("Name", bound=Hashable)
Timed = Callable[[], Any]
Check = Callable[[Any], None]  # raises an AnswerError if a result is wrong


@dataclass(frozen=True)
class Claim:
    """A claim that `ours / theirs` is at most `target` and at least `floor`, as in GAP's `benchmark.h`; it is printed,
    and kept in the benchmark's file of results. Without a target, it only informs."""

    name: str  # the benchmark, and its file of results
    what: str
    peer: str
    target: float | None
    unit: str = "s"
    floor: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)  # more items for the record

    def measure(self, ours: tuple[Timed, Check], theirs: tuple[Timed, Check], trials: int) -> dict[str, Any]:
        """Time both in turn, and record the seconds of each."""
        return self.record(*take_turns({"ours": ours, "theirs": theirs}, trials).values())

    def record(self, ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
        """Record these trials: medians, their ratio, whether it meets the target, and minima."""
        middle, least = (median(ours), median(theirs)), (min(ours), min(theirs))
        ratio = middle[0] / middle[1]
        return self._keep(
            ours=middle[0],
            theirs=middle[1],
            ratio=ratio,
            met=is_met(ratio, self.floor or None, self.target),
            trials=len(ours),
            minimum={"ours": least[0], "theirs": least[1], "ratio": least[0] / least[1]},
            each={"ours": list(ours), "theirs": list(theirs)},
        )

    def failed(self, end: str, theirs: float) -> dict[str, Any]:
        """Record that there is nothing to compare, because ours did not finish, and how it ended."""
        return self._keep(
            ours=None, theirs=theirs, ratio=None, met=None if self.target is None else False, failed=end, trials=1
        )

    def absent(self, reason: str) -> dict[str, Any]:
        """Record that the peer is missing, and why, unless an earlier run had it."""
        return self._keep(ours=None, theirs=None, ratio=None, met=None, absent=reason, trials=0)

    def _keep(self, **outcome: Any) -> dict[str, Any]:
        heading = {one: getattr(self, one) for one in ("name", "what", "peer", "unit", "target", "floor")}
        when = {"machine": machine(), "versions": versions(), "date": date.today().isoformat()}
        row = {**heading, **self.facts, **when, **outcome}
        print(text_of(row), flush=True)
        keep(RESULTS / f"{self.name}.jsonl", row)
        return row


def take_turns(runs: Mapping[Name, tuple[Timed, Check]], trials: int, *, warmups: int = 1) -> dict[Name, list[float]]:
    """The seconds of the trials of each run, by name, after `warmups` rounds that do not count, which compile and warm
    up. Each result is verified and released before the next run.

    Taking turns makes a ratio robust: a machine that is slow for a while is slow for all runs."""
    seconds: dict[Name, list[float]] = {name: [] for name in runs}
    for trial in range(-warmups, trials):
        for name, (run, check) in runs.items():
            elapsed, result = timed(run)
            check(result)
            del result
            if trial >= 0:
                seconds[name].append(elapsed)
    return seconds


def text_of(row: Mapping[str, Any]) -> str:
    """The record of a claim as lines of text."""
    if "failed" in row:
        return f"{row['what']}\n  {row['failed']}; target {row['theirs']:g} {row['unit']}: NOT MET"
    if "absent" in row:
        return f"{row['what']}\n  against {row['peer']}: not run, {row['absent']}"
    table = [["", "ours", "theirs", "ratio"]]
    for title, numbers in (("median", row), ("minimum", row["minimum"])):
        sides = [f"{numbers[side]:.4g} {row['unit']}".strip() for side in ("ours", "theirs")]
        table.append([title, *sides, f"{numbers['ratio']:.3f}"])
    target = limit_text({"at_least": row["floor"] or None, "at_most": row["target"]}, "") or "none"
    verdict = {None: "", True: ": met", False: ": NOT MET"}[row["met"]]
    heading = f"{row['what']}\nagainst {row['peer']}, {row['trials']} trials, all verified"
    return f"{heading}\n{as_text(table)}\ntarget {target}{verdict}".replace("\n", "\n  ")


def keep(path: Path, row: dict[str, Any]) -> None:
    """Write a record to a JSON Lines file, in place of the earlier record of the same claim. A record without a peer
    does not replace one with numbers."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    same = [old for old in rows if (old["what"], old["peer"]) == (row["what"], row["peer"])]
    if "absent" in row and any(old["ratio"] is not None for old in same):
        return
    path.parent.mkdir(exist_ok=True)
    rows = [old for old in rows if old not in same] + [row]
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))


def parser_of(text: str, *, scale: int | None = None, trials: int | None = None) -> argparse.ArgumentParser:
    """A parser of a benchmark's options, among them --scale and --trials if these have defaults."""
    options = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    if scale is not None:
        text = "2**scale vertices, 16 edges each (20: 16 M edges)"
        options.add_argument("--scale", type=int, default=scale, help=text)
    if trials is not None:
        options.add_argument("--trials", type=int, default=trials)
    return options


def in_new_process(run: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of a benchmark returns in a process of its own, whose memory holds nothing of earlier runs."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(run, *arguments).result()


NAMES_OF_VERSION_1 = "memory.limit_in_bytes", "memory.max_usage_in_bytes"


@contextmanager
def control_group(limit: int | None) -> Iterator[ControlGroup | None]:
    """A memory control group of Linux with this limit, so that the kernel ends a process that enters it, and nothing
    else, if it exceeds the limit; None without a limit."""
    if limit is None:
        yield None
        return
    line = next(one for one in Path("/proc/self/cgroup").read_text().splitlines() if "memory" in one or one[:2] == "0:")
    number, _, own = line.split(":", 2)
    root, name, peak = ("", "memory.max", "memory.peak") if number == "0" else ("memory", *NAMES_OF_VERSION_1)
    group = Path("/sys/fs/cgroup") / root / own.strip("/") / f"dgraph-{os.getpid()}"
    group.mkdir()
    try:
        (group / name).write_text(str(limit))
        yield ControlGroup(group, peak)
    finally:
        group.rmdir()


@dataclass(frozen=True)
class ControlGroup:
    folder: Path
    file_of_peak: str

    def __call__(self) -> None:
        """Enter it."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    @property
    def peak(self) -> int:
        """The most bytes that its processes have used, cached files included."""
        return int((self.folder / self.file_of_peak).read_text())


# -- edges -------------------------------------------------------------------------------------------------------------


def rmat_edges(scale: int, edge_factor: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the R-MAT edges that every benchmark builds from; scale 20 has 16 M edges."""
    columns = Rmat(scale, edge_factor, seed=1).build()
    return columns["source"], columns["destination"]


def simple(source: np.ndarray, destination: np.ndarray, vertices: int) -> Edges:
    """Undirected edges without loops and repeats."""
    ends = np.sort(np.stack([source, destination]), axis=0)
    ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    return Edges(ends[0], ends[1], vertices, directed=False)


def same(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Raise an AnswerError if the values are not those expected."""
    if not np.array_equal(found, expected):
        raise AnswerError(f"{what}: got {len(found)} values that differ from the {len(expected)} expected")


def sorted_pairs(sources: np.ndarray, destinations: np.ndarray) -> np.ndarray:
    """Pairs of numbers below 2**32, each as one number, sorted. They are equal only for equal multisets of edges."""
    pairs = sources.astype(np.uint64) << np.uint64(32) | destinations.astype(np.uint64)
    pairs.sort()
    return pairs


def rows_of(indptr: np.ndarray) -> np.ndarray:
    """The row of each entry of a compressed sparse matrix."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
