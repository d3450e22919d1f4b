"""Code that the benchmarks in this folder share: the location of their results, and the edges that they build from. As
for suites, `dgraph.bench` times, verifies and summarises.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.bench import claim
from dgraph.bench.turns import Check, Timed, take_turns

RESULTS = Path(__file__).parent / "results"


class Claim(claim.Claim):
    """A claim that is printed and kept in the benchmark's file of results."""

    def measure(self, ours: tuple[Timed, Check], theirs: tuple[Timed, Check], trials: int) -> dict[str, Any]:
        """Time both in turn, and record the seconds of each."""
        return self.record(*take_turns({"ours": ours, "theirs": theirs}, trials).values())

    def record(self, ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
        return self._keep(self.outcome(ours, theirs))

    def absent(self, reason: str) -> dict[str, Any]:
        """Record that the peer is missing, and why, unless an earlier run had it."""
        return self._keep(self.without_peer(reason))

    def _keep(self, row: dict[str, Any]) -> dict[str, Any]:
        print(claim.text_of(row), flush=True)
        claim.keep(RESULTS / f"{self.name}.jsonl", row)
        return row


def rmat_edges(scale: int, edge_factor: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the R-MAT edges that every benchmark builds from; scale 20 has 16 M edges."""
    from dgraph.io.generate import Rmat

    columns = Rmat(scale, edge_factor, seed=1).build()
    return columns["source"], columns["destination"]
