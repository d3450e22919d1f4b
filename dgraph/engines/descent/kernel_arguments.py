"""The arguments that the kernels of block descent take in addition to vertex values: the queue of blocks, rows of
edges, the readers of each block, and vertex flags."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.engines.descent.block_options import BlockOptions
from dgraph.native import block_queue as queue
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import field_name
from dgraph.tables.edge_tables import cached_on
from dgraph.vertex_state.partition_state import PartitionState

SMALLEST_BLOCK = 64  # the minimum number of vertices per block if the size is "auto"
MOST_BLOCKS = {
    "push": 4096,
    "pull": 64,
    "pull_push": 4096,
}  # the maximum number of blocks if the size is "auto"; few, where each change is announced to blocks


def descent_arguments(
    state: PartitionState, phase: PhaseAnalysis, blocks: BlockOptions, side: str, team: int
) -> dict[str, Any]:
    """All these arguments. `team` is the number of threads, and `side` the side of the proxies that masters update."""
    (message,) = phase.messages
    shift = _shift(blocks, state.n)
    count = max(1, (state.n + (1 << shift) - 1) >> shift)
    pace = np.zeros(team)
    pace[: len(blocks.pace)] = blocks.pace[:team]
    found: dict[str, Any] = {f"_{name}": array for name, array in queue.new_queue(count, team).items()}
    found |= {
        "_limits": _limits(blocks, state.n, shift, count, team),
        "_pace": pace,
        "_rank": 0,
        "_size": 1,
        "_signals": np.zeros(32, np.int64),
        "_taken": np.full(state.size, message.identity, message.dtype),
        "_news": np.zeros(state.size, bool),
        "_fresh": np.zeros(state.size, bool),
        "_copied": _copied(state, side),
        "_held": np.zeros(
            state.n if adds_changes(state, blocks) else 0, bool
        ),  # vertices whose change is still too small to send
        "_least": 0.0,
    }
    if adds_changes(state, blocks):
        found |= {
            f"_told_{name}": np.zeros_like(state.values[field_name(name)]) for name in phase.send.names_of("state")
        }
    return found | _rows(state, phase, blocks.operator, shift)


def adds_changes(state: PartitionState, blocks: BlockOptions) -> bool:
    """Whether vertices send differences, which their receivers add up."""
    return state.analysis.synchronous and blocks.operator == "push"


def _shift(blocks: BlockOptions, n: int) -> int:
    """The binary logarithm of the block size, given the number `n` of owned vertices."""
    size = blocks.size or max(SMALLEST_BLOCK, n // MOST_BLOCKS[blocks.operator])
    return max(0, int(min(size, max(n, 1)) - 1).bit_length())


def _limits(blocks: BlockOptions, n: int, shift: int, count: int, team: int) -> np.ndarray:
    """The settings of the queue that are the same in all epochs."""
    limits = np.zeros(queue.FIRST + 1, np.int64)
    limits[queue.SHIFT], limits[queue.BLOCKS], limits[queue.OWNED] = shift, count, n
    limits[queue.CYCLIC], limits[queue.BOUND] = blocks.order == "cyclic", max(count, 4 * team)
    limits[queue.TOGETHER] = blocks.mode == "barrier" and team > 1
    return limits


def _copied(state: PartitionState, side: str) -> np.ndarray:
    """Flags of the owned vertices that have proxies on `side` in other partitions."""
    found = np.zeros(state.size, bool)
    for peer in state.post.peers:
        found[state.post.masters(side, peer)] = True
    return found


def _rows(state: PartitionState, phase: PhaseAnalysis, operator: str, shift: int) -> dict[str, np.ndarray]:
    """The out-edges of each vertex, and also its in-edges where blocks gather."""
    edges, along, (message,) = state.edges, phase.along, phase.messages
    if state.analysis.synchronous and operator == "pull":
        into = edges.receivers(along, joined=True)[0]
        found = {f"_in_{name}": array for name, array in edges.arguments(into).items()}
        return found | cached_on(into, ("pairs", shift), lambda: _pairs(found, state.n, shift))
    out = edges.senders(along)
    out = out if len(out) < 2 else edges.receivers(along, joined=True)  # along both directions: all neighbours
    found = edges.arguments(out[0])
    if operator != "push":
        into = edges.receivers(along, joined=True)[0]
        found |= {f"_in_{name}": array for name, array in edges.arguments(into).items()}
    if operator == "pull_push":
        found["_slot_of"] = cached_on(out[0], ("slots", along), lambda: _slots(found))
        found["_slots"] = np.full(len(found["neighbours"]), message.identity, message.dtype)
    return found


def _pairs(tables: dict[str, np.ndarray], owned: int, shift: int) -> dict[str, np.ndarray]:
    """For each block, including blocks of proxies, the blocks that read it, and the number of edges to each of these
    per vertex of the block."""
    rows = tables["_in_indptr"]
    count = (len(rows) - 1 + (1 << shift) - 1 >> shift) or 1
    readers = np.repeat(np.arange(owned) >> shift, np.diff(rows[: owned + 1]))
    neighbours = tables["_in_neighbours"][: len(readers)]
    both = (neighbours >> np.uint32(shift)).astype(np.int64) * count + readers
    if count * count <= 4 * len(both) + 4096:
        edges = np.bincount(both, minlength=count * count)
        found = np.flatnonzero(edges)
        edges = edges[found]
    else:
        found, edges = np.unique(both, return_counts=True)
    starts = np.searchsorted(found, np.arange(count + 1) * count)
    return {"_pairs": starts.astype(np.int64), "_readers": found % count, "_share": edges / (1 << shift)}


def _slots(tables: dict[str, np.ndarray]) -> np.ndarray:
    """The position of each out-edge among the in-edges."""
    n = len(tables["indptr"]) - 1
    senders = np.repeat(np.arange(n), np.diff(tables["indptr"]))
    receivers = np.repeat(np.arange(n), np.diff(tables["_in_indptr"]))
    slots = np.empty(len(senders), np.int64)
    slots[np.lexsort((tables["neighbours"], senders))] = np.lexsort((receivers, tables["_in_neighbours"]))
    return slots
