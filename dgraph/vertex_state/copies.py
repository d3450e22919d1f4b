"""What masters and proxies tell each other before the first round: degrees, and the columns of vertices. `Rounds.begin`
calls these functions in this order, for each of its states."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dgraph.exchange.proxy_post import BROADCAST, REDUCE
from dgraph.programs.kernel_names import key
from dgraph.vertex_state.partition_state import PartitionState


def count_degrees(state: PartitionState, alongs: Iterable[str]) -> None:
    """Count degrees over the edges here, and send the proxies' counts to their masters."""
    state.degrees = {along: state.edges.degrees(along) for along in alongs}
    if not state.switches.twice:
        found = list(state.degrees.values())
        state.post.reduce("any", found, np.logical_or.reduce([degree > 0 for degree in found]))


def add_degrees(state: PartitionState) -> None:
    """Add the counts that have come from other partitions to those of masters here."""
    for _, ids, values in state.post.collect({REDUCE: "any"}):
        for degree, more in zip(state.degrees.values(), values, strict=True):
            degree[ids] += more


def send_copies(state: PartitionState) -> None:
    """Send degrees and columns from masters to proxies."""
    state.post.broadcast(BROADCAST, "any", _copied_once(state), None)


def take_copies(state: PartitionState) -> None:
    """Write the degrees and columns that have come to the proxies here."""
    for _, ids, values in state.post.collect({BROADCAST: "any"}):
        for array, value in zip(_copied_once(state), values, strict=True):
            array[ids] = value


def _copied_once(state: PartitionState) -> list[np.ndarray]:
    """The arrays that travel before the first round, and never again."""
    return [*state.degrees.values(), *(state.values[key(column.name)] for column in state.analysis.vertex_columns)]
