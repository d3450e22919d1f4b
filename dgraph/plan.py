"""What was chosen for a run: engine, device, limits, and the optimisations that are on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dgraph.analysis import Analysis
from dgraph.engines.bsp import bsp
from dgraph.engines.gas import gas
from dgraph.errors import OptionError
from dgraph.state import Switches

ENGINES: dict[str, Callable] = {"bsp": bsp, "gas": gas}
LOCAL = "local"  # not an engine: the operation's own solver, where the graph is one partition
DEVICES = ("cpu",)


@dataclass(frozen=True)
class Plan:
    """`repartitioned` says why the graph's partitions were not used as they are; empty if they were."""

    engine: str
    device: str
    max_rounds: int | None
    drop_weights: bool  # edge columns that the program never reads are neither stored nor sent (Falcon)
    switches: Switches
    repartitioned: str = ""

    def options(self) -> dict[str, Any]:
        """What the report says of the plan."""
        if self.engine == LOCAL:
            return {"engine": LOCAL, "device": self.device}
        return {
            "engine": self.engine,
            "device": self.device,
            "active vertices only": self.switches.active_only,
            "weights dropped": self.drop_weights,
            "changed copies only": self.switches.changed_only,
            "direction": self.switches.direction,
            "repartitioned": self.repartitioned or "no",
        }


def choose(
    *,
    engine: str,
    device: str,
    max_rounds: int | None,
    direction: str,
    active_only: bool,
    drop_weights: bool,
    changed_only: bool,
    random_seed: int,
    solvable: bool = False,
) -> Plan:
    """Check what a user asked for. Rounds in GAS order wait once for the others, in BSP order at times twice; a local
    solver is quicker than both, where there is one (`solvable`) and nothing was asked that only rounds can give."""
    if engine not in ("auto", LOCAL, *ENGINES):
        raise OptionError(f"engine={engine!r} is not known; choose one of auto, {LOCAL}, {', '.join(ENGINES)}")
    if device not in ("auto", *DEVICES):
        raise OptionError(f"device={device!r} is not known; choose one of auto, {', '.join(DEVICES)}")
    if max_rounds is not None and (not isinstance(max_rounds, int) or isinstance(max_rounds, bool) or max_rounds < 1):
        raise OptionError(f"max_rounds={max_rounds!r} must be a whole number above zero, or None")
    if direction not in ("auto", "push", "pull"):
        raise OptionError(f"direction={direction!r} is not known; choose one of auto, push, pull")
    if not isinstance(random_seed, int) or not -(2**63) <= random_seed < 2**63:
        raise OptionError(f"random_seed={random_seed!r} must be a whole number of 64 bits")
    switches = Switches(bool(active_only), bool(changed_only), direction, random_seed=random_seed)
    plan = Plan(engine, "cpu" if device == "auto" else device, max_rounds, bool(drop_weights), switches)
    if engine == "auto":
        in_rounds = replace(switches, random_seed=0) != Switches() or max_rounds is not None or not drop_weights
        return replace(plan, engine=LOCAL if solvable and not in_rounds else "gas")
    return plan


def orders_for(analysis: Analysis, directed: bool, direction: str) -> tuple[str, ...]:
    """The orders of edges that the rounds read: rows of those who are sent to, and to push, of those who send."""
    wanted: list[str] = []
    for phase in analysis.phases:
        along = phase.along if directed else "out"
        pushes = {"out": ["out"], "in": ["incoming"], "both": ["out", "incoming"]}[along]
        pulls = {"out": ["incoming"], "in": ["out"], "both": ["incoming", "out"]}[along]
        if analysis.synchronous:
            wanted += pulls
        else:
            wanted += pushes if direction == "push" else [*pushes, *pulls]
    return tuple(dict.fromkeys(wanted))
