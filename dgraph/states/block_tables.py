"""What block descent reads of a partition's edges: rows of who sends and of who gathers; which block reads which."""

from __future__ import annotations

import numpy as np

from dgraph.agents.edge_tables import kept
from dgraph.analysis import PhaseAnalysis
from dgraph.states.blocks import Blocks
from dgraph.states.state import State

SMALLEST = 64  # vertices of a block of "auto"
MOST = {"push": 4096, "pull": 64, "pull_push": 4096}  # blocks of "auto": who pulls tells blocks, fewer of them for less


def shift_of(blocks: Blocks, n: int) -> int:
    """Blocks of 1 << shift of the n vertices that a partition owns."""
    size = blocks.size or max(SMALLEST, n // MOST[blocks.operator])
    return max(0, int(min(size, max(n, 1)) - 1).bit_length())


def tables_of(state: State, phase: PhaseAnalysis, operator: str, shift: int) -> dict[str, np.ndarray]:
    """The rows of who sends, and where blocks gather, of who is sent to."""
    edges, along, (message,) = state.edges, phase.along, phase.messages
    if state.analysis.synchronous and operator == "pull":
        into = edges.receivers(along, at_once=True)[0]
        found = {f"_in_{name}": array for name, array in edges.arguments(into).items()}
        return found | kept(into, ("pairs", shift), lambda: _pairs(found, state.n, shift))
    out = edges.senders(along)
    out = out if len(out) < 2 else edges.receivers(along, at_once=True)  # both ways: all neighbours
    found = edges.arguments(out[0])
    if operator != "push":
        into = edges.receivers(along, at_once=True)[0]
        found |= {f"_in_{name}": array for name, array in edges.arguments(into).items()}
    if operator == "pull_push":
        found["_slot_of"] = kept(out[0], ("slots", along), lambda: _slots(found))
        found["_slots"] = np.full(len(found["neighbours"]), message.identity, message.dtype)
    return found


def _pairs(tables: dict[str, np.ndarray], owned: int, shift: int) -> dict[str, np.ndarray]:
    """For each block, of proxies too, those that read it, and how many edges go there, for each of its vertices on
    average."""
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
    """For each out-edge, its place among the in-edges."""
    n = len(tables["indptr"]) - 1
    senders = np.repeat(np.arange(n), np.diff(tables["indptr"]))
    receivers = np.repeat(np.arange(n), np.diff(tables["_in_indptr"]))
    slots = np.empty(len(senders), np.int64)
    slots[np.lexsort((tables["neighbours"], senders))] = np.lexsort((receivers, tables["_in_neighbours"]))
    return slots
