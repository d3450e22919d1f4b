"""Checkpoints of a fit: its factors after some epochs, those kept so far, and what the next epoch begins with."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.checkpoint.folder import CheckpointFolder
from dgraph.checkpoint.keeper import CheckpointPlan, CheckpointWriter
from dgraph.checkpoint.piece import NUMBERS, CheckpointPiece, name_of, rows_for
from dgraph.factors.rating_fit import BestEpoch, FitPlan, RatingFit
from dgraph.factors.rating_test import HeldPairs
from dgraph.options import Checkpoint
from dgraph.runs.resumption import as_text, checkpoints_in, graph_identity

FACTORS, BEST, MEASURE = "factors", "best factors", "best "
STATE = ("step", "regularization")  # numbers of a fit that the next epoch reads


@dataclass
class FitCheckpoints:
    """A worker's part: it writes pieces of its places while the fit continues. All workers decide alike when, by the
    clock of the first."""

    plan: CheckpointPlan
    parts: Sequence[int] = (0,)
    of: int = 1
    last: int = 0  # the epoch of the last one
    written: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.writer = CheckpointWriter(self.plan)

    @property
    def store(self) -> CheckpointFolder:
        assert isinstance(self.plan.store, CheckpointFolder), "nothing is kept in the memory of workers"
        return self.plan.store

    @property
    def is_overdue(self) -> bool:
        seconds = self.plan.option.seconds
        return seconds is not None and time.monotonic() - self.written >= seconds

    def is_due(self, epoch: int, *, overdue: bool) -> bool:
        every = self.plan.option.every
        return overdue or (every is not None and epoch - self.last >= every)

    def wait(self) -> None:
        """Wait until the last checkpoint is written here."""
        self.writer.wait(self.last)

    def close(self) -> None:
        """Called when the fit is over."""
        self.writer.close(self.last)

    def keep(self, fit: RatingFit) -> None:
        """Begin to write a checkpoint. All workers have waited for the one before, so older ones are removed."""
        numbers = {name: np.array(getattr(fit, name)) for name in STATE}
        numbers |= {f"{MEASURE}{name}": np.array(value) for name, value in fit.best.measures.items()}
        numbers |= {f"{MEASURE}loss": np.array(fit.best.loss), f"{MEASURE}epoch": np.array(fit.best.epoch)}
        for part, place, best in zip(self.parts, fit.places, fit.best.factors, strict=True):
            newest = place.factors[: place.owned].copy()  # because the next epoch changes them
            own = {NUMBERS: place.numbers[: place.owned], FACTORS: newest, BEST: best}
            piece = CheckpointPiece(dict(self.store.identity), fit.epoch, part, self.of, own | numbers)
            self.writer.submit(self.store.write, name_of(fit.epoch, self.plan.attempt), piece)
        if fit.worker == 0:
            self.writer.submit(self.store.forget, self.last)
        self.last, self.written = fit.epoch, time.monotonic()

    def restore(self, fit: RatingFit) -> bool:
        """Let a fit that has begun go on from the checkpoint to resume from, if there is one."""
        if not self.plan.name:
            return False
        pieces = {part: self.store.read(self.plan.name, part) for part in range(self.plan.parts)}
        rows = [rows_for(pieces, place.numbers[: place.owned], self.store.path) for place in fit.places]
        for place, mine in zip(fit.places, rows, strict=True):
            place.factors[: place.owned] = mine[FACTORS]
        numbers = {name: value.item() for name, value in rows[0].items() if not value.ndim}
        for name in STATE:
            setattr(fit, name, numbers[name])
        measures = {name.removeprefix(MEASURE): value for name, value in numbers.items() if name.startswith(MEASURE)}
        loss, epoch = measures.pop("loss"), int(measures.pop("epoch"))
        fit.best = BestEpoch([mine[BEST].copy() for mine in rows], loss, measures, epoch)
        fit.epoch = self.last = self.plan.round
        return True


def fit_checkpoints(
    graph: PartitionedGraph,
    plan: FitPlan,
    columns: Sequence[str],
    held: Sequence[Any],
    option: Checkpoint | None,
    *,
    twice: bool = False,
) -> CheckpointPlan | None:
    """The checkpoints under the option's path. Without a path, nothing is kept: after the loss of a worker, the fit
    begins again."""
    if option is None or option.path is None:
        return None
    files = sorted(Path(__file__).parent.glob("*.py"))
    identity = {
        "kernels": xxhash.xxh3_64_hexdigest(b"".join(file.read_bytes() for file in files)),
        **graph_identity(graph, held, columns, twice=twice),
        **{one.name: str(getattr(plan, one.name)) for one in fields(plan) if one.name != "test"},
        "test": as_text(plan.test.what.keys) if isinstance(plan.test.what, HeldPairs) else repr(plan.test.what),
        "random_seed": str(plan.test.random_seed),
    }
    return checkpoints_in(graph, option, "factorize", identity)
