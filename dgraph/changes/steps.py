"""What each update touched, so that an answer for the graph before can go on: pairs of ends, and new vertices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dgraph.changes.batch import Batch, PairRule, ends_of

MOST_STEPS = 1 << 10  # updates that are remembered
MOST_PAIRS = 1 << 21  # pairs that they touched, all together


@dataclass(frozen=True, eq=False)
class Step:
    """An update of the graph with the version `before`. Each pair of ends that it named, as an ascending key, and
    whether the graph has an edge between them afterwards; and the numbers of the vertices that were new. If edges have
    directions, so do pairs."""

    before: object
    keys: np.ndarray
    present: np.ndarray
    vertices: np.ndarray
    directed: bool

    @classmethod
    def of(cls, batch: Batch, before: object, directed: bool) -> Step:
        keys = np.union1d(batch.removed, batch.added)
        gone = np.isin(keys, batch.removed[batch.emptied]) & ~np.isin(keys, batch.added)
        return cls(before, keys, ~gone, np.sort(batch.numbers), directed)

    @classmethod
    def nothing(cls, before: object) -> Step:
        """No update at all."""
        return cls(before, np.empty(0, np.uint64), np.empty(0, bool), np.empty(0, np.uint32), True)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the second end of each pair."""
        return ends_of(self.keys)

    def renumbered(self, renumber: Callable[[np.ndarray], np.ndarray], rule: PairRule) -> Step:
        """The step with other numbers of vertices."""
        keys = rule.keys(*map(renumber, self.ends))
        order = np.argsort(keys)
        vertices = np.sort(renumber(self.vertices))
        return replace(self, keys=keys[order], present=self.present[order], vertices=vertices)


def with_step(steps: Sequence[Step], last: Step) -> tuple[Step, ...]:
    """The steps with one more, without the earliest if they are too many."""
    kept, pairs = [*steps, last][-MOST_STEPS:], 0
    for place in range(len(kept) - 1, -1, -1):
        pairs += len(kept[place])
        if pairs > MOST_PAIRS and place < len(kept) - 1:
            return tuple(kept[place + 1 :])
    return tuple(kept)


def joined_steps(steps: Sequence[Step]) -> Step:
    """Some steps, the earliest first, as one."""
    if len(steps) == 1:
        return steps[0]
    keys = np.concatenate([one.keys for one in steps])
    order = np.argsort(keys, kind="stable")
    is_last = np.ones(len(keys), bool)
    is_last[:-1] = keys[order][1:] != keys[order][:-1]
    order = order[is_last]
    present = np.concatenate([one.present for one in steps])[order]
    vertices = np.sort(np.concatenate([one.vertices for one in steps]))
    return replace(steps[0], keys=keys[order], present=present, vertices=vertices)
