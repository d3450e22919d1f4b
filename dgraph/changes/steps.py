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
    directions, so do pairs. `existed` says whether there was an edge before; None if nobody knows."""

    before: object
    keys: np.ndarray
    present: np.ndarray
    vertices: np.ndarray
    directed: bool
    existed: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        batch: Batch,
        before: object,
        directed: bool,
        exist: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> Step:
        """The step of a batch. `exist` says which of some pairs had an edge before it."""
        keys = np.union1d(batch.removed, batch.added)
        gone = np.isin(keys, batch.removed[batch.emptied]) & ~np.isin(keys, batch.added)
        existed = None
        if exist is not None:
            existed = np.isin(keys, batch.removed)
            existed[~existed] = exist(keys[~existed])
        return cls(before, keys, ~gone, np.sort(batch.numbers), directed, existed)

    @classmethod
    def nothing(cls, before: object) -> Step:
        """No update at all."""
        none = np.empty(0, bool)
        return cls(before, np.empty(0, np.uint64), none, np.empty(0, np.uint32), True, none)

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
        existed = None if self.existed is None else self.existed[order]
        return replace(self, keys=keys[order], present=self.present[order], vertices=vertices, existed=existed)


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
    first, last = order[np.roll(is_last, 1)], order[is_last]
    present = np.concatenate([one.present for one in steps])[last]
    vertices = np.sort(np.concatenate([one.vertices for one in steps]))
    known = [one.existed for one in steps if one.existed is not None]
    existed = np.concatenate(known)[first] if len(known) == len(steps) else None
    return replace(steps[0], keys=keys[last], present=present, vertices=vertices, existed=existed)
