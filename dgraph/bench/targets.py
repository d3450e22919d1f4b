"""The outcome of each target: its figure in the trials, the paper's figure, and whether it is met."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any

import pandas as pd

from dgraph.bench.cases import rows_of
from dgraph.bench.suite import AXES, LEAST, STATISTICS, Suite, Target
from dgraph.errors import OptionError


def evaluate_targets(suite: Suite, trials: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A record for each target: its figure in these trials, its limits, and whether it is met (None without limits).
    Targets without a trial are left out."""
    frame = pd.DataFrame(trials)
    records = [_outcome(suite, target, frame) for target in suite.targets]
    return [one for one in records if one is not None]


def _outcome(suite: Suite, target: Target, frame: pd.DataFrame) -> dict[str, Any] | None:
    """The record of one target; None if it has no trial."""
    if target.figure not in frame.columns:
        raise OptionError(f"{suite.path}: figure {target.figure!r} was not measured; choose from {', '.join(frame)}")
    frame = rows_of(frame, target.where)
    each = _ratios(suite, target, frame) if target.ratio else _values(target, frame)
    if not each:
        return None
    value = _over(target, list(each.values()))
    limit = {"at_least": target.at_least, "at_most": target.at_most}
    met = is_met(value, **limit)
    heading = {"kind": "target", "suite": suite.name, "what": target.what, "figure": target.figure}
    facts = {"ratio": target.ratio and " / ".join(target.ratio), "over": target.over, "paper": target.paper}
    return {**heading, **facts, "ours": value, **limit, "met": met, "each": each}


def is_met(value: float, at_least: float | None, at_most: float | None) -> bool | None:
    """Whether a value is within its limits; None if it has none."""
    if at_least is None and at_most is None:
        return None
    return (at_least is None or value >= at_least) and (at_most is None or value <= at_most)


def _values(target: Target, frame: pd.DataFrame) -> dict[str, float]:
    """{name of the case: statistic of its trials}."""
    groups = frame[frame[target.figure].notna()].groupby(list(AXES), sort=False)[target.figure]
    return {_name(frame, key): float(STATISTICS[target.statistic](list(values))) for key, values in groups}


def _ratios(suite: Suite, target: Target, frame: pd.DataFrame) -> dict[str, float]:
    """{name of the pair: its ratio}, for each pair of cases that differ only in the target's axis."""
    assert target.ratio is not None
    replaced = suite.replaced if target.axis == "setting" else set()
    others = [axis for axis in AXES if axis != target.axis and axis not in replaced]
    ratios = {}
    for key, group in frame[frame[target.figure].notna()].groupby(others, sort=False):
        by = {str(name): list(one[target.figure]) for name, one in group.groupby(target.axis, sort=False)}
        values = {name: float(STATISTICS[target.statistic](one)) for name, one in by.items()}
        if values.keys() - set(target.ratio):
            values[LEAST] = min(value for name, value in values.items() if name not in target.ratio)
        if set(target.ratio) <= values.keys() and values[target.ratio[1]]:
            ratios[_name(frame, key, others)] = values[target.ratio[0]] / values[target.ratio[1]]
    return ratios


def _over(target: Target, values: list[float]) -> float:
    """The values of all cases combined: their mean, the worst or the best."""
    if target.over == "mean":
        return geometric_mean(values) if min(values) > 0 else sum(values) / len(values)
    worst, best = (max, min) if target.at_least is None else (min, max)
    return worst(values) if target.over == "worst" else best(values)


def _name(frame: pd.DataFrame, key: Any, axes: Sequence[str] = AXES) -> str:
    """The name of a case: its values on the axes on which cases differ; "all" if there is one case."""
    shown = [str(value) for axis, value in zip(axes, key, strict=True) if frame[axis].nunique() > 1]
    return ", ".join(shown) or "all"
