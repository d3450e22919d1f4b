"""A claim: the ratio of two numbers from one run, ours and a peer's, with its target, as in GAP's `benchmark.h`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from dgraph.bench.machine import machine, versions
from dgraph.bench.table import as_text, limit_text
from dgraph.bench.targets import is_met


@dataclass(frozen=True)
class Claim:
    """A claim that `ours / theirs` is at most `target` and at least `floor`. Without a target, it only informs."""

    name: str  # the benchmark, and its file of results
    what: str
    peer: str
    target: float | None
    unit: str = "s"
    floor: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)  # more items for the record

    def outcome(self, ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
        """The record of these trials: medians, their ratio, whether it meets the target, and minima."""
        middle, least = (median(ours), median(theirs)), (min(ours), min(theirs))
        ratio = middle[0] / middle[1]
        return {
            **self._heading(),
            "ours": middle[0],
            "theirs": middle[1],
            "ratio": ratio,
            "met": is_met(ratio, self.floor or None, self.target),
            "trials": len(ours),
            "minimum": {"ours": least[0], "theirs": least[1], "ratio": least[0] / least[1]},
            "each": {"ours": list(ours), "theirs": list(theirs)},
        }

    def without_peer(self, reason: str) -> dict[str, Any]:
        """The record of a claim whose peer is missing."""
        nothing = dict.fromkeys(("ours", "theirs", "ratio", "met"))
        return {**self._heading(), **nothing, "absent": reason, "trials": 0}

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


def text_of(row: Mapping[str, Any]) -> str:
    """The record of a claim as lines of text."""
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
