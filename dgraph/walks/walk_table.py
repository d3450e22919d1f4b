"""The vertices of walks, and what walks are asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from dgraph.partition.ids.numbering import Numbering
from dgraph.solvers.walks import NOBODY, WalkRule


class WalkPlan(NamedTuple):
    """What walks are like, in the order in which `solvers.walks.walks` takes it."""

    length: int
    rule: WalkRule
    random_seed: int


class WalkTable:
    """The vertices of the walks from `first` on, by number: a row for each walk, filled up with NOBODY. This is a plain
    class because Dask would search a dataclass or a tuple for tasks."""

    def __init__(self, first: int, steps: np.ndarray):
        self.first, self.steps = first, steps

    def frame(self, begin: int, end: int, ids: Numbering) -> pd.DataFrame:
        """Some of its walks with the user's ids."""
        steps = self.steps[begin:end]
        walked = steps != NOBODY
        walks = np.arange(len(steps)) + self.first + begin
        columns = {
            "walk": np.repeat(walks, walked.sum(axis=1)),
            "step": np.broadcast_to(np.arange(steps.shape[1]), steps.shape)[walked],
            "vertex": ids.restored(steps[walked]),
        }
        return pd.DataFrame(columns, copy=False)

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.steps.nbytes


NO_WALKS = WalkTable(0, np.empty((0, 1), np.uint32))


def ranges(size: int, parts: int) -> list[tuple[int, int]]:
    """The walks of each of some parts."""
    return [(size * part // parts, size * (part + 1) // parts) for part in range(parts)]
