"""What changed since a graph's partition was built, as terms of sums over the edges into each vertex."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgraph.changes.batch import ends_of
from dgraph.changes.history import History
from dgraph.frames.any_frame import numeric_column

NO_ROWS = np.empty(0, np.uint32)


class ChangedTerms(NamedTuple):
    """Edges into `rows` from `senders`: so many more than the partition has, or fewer where `factors` are negative; or,
    with weights, edges that came, and their weights."""

    rows: np.ndarray
    senders: np.ndarray
    factors: np.ndarray


def terms_since(history: History, weight: str | None, skip_loops: bool) -> ChangedTerms | None:
    """The terms of the batches since the base; None if it has no partition, gave vertices other numbers, or edges with
    weights went or became one."""
    if history.base.partition is None or not history.keeps_numbers:
        return None
    if not history.since:
        return ChangedTerms(NO_ROWS, NO_ROWS, np.empty(0))
    rule, net = history.rule, history.net
    if weight is None:
        keys = np.union1d(net.removed, net.added)
        before = history.base.counts(keys, rule.directed) if rule.merges else np.zeros(len(keys), np.int64)
        factors = net.present(keys, before, rule) - before
        sources, destinations = ends_of(keys)
    elif len(net.removed) or rule.merges:
        return None
    else:
        sources, destinations = net.listed()
        factors = numeric_column(net.frame, weight, is_weight=True)
    kept = factors != 0
    if skip_loops:
        kept &= sources != destinations
    sources, destinations, factors = sources[kept], destinations[kept], factors[kept].astype(np.float64)
    if rule.directed:
        return ChangedTerms(destinations, sources, factors)
    back = sources != destinations
    return ChangedTerms(
        np.concatenate([destinations, sources[back]]),
        np.concatenate([sources, destinations[back]]),
        np.concatenate([factors, factors[back]]),
    )
