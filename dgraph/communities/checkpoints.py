"""What happens after each level of a search for communities: progress is shown, and a checkpoint is written."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from dgraph.checkpoint.folder import CheckpointFolder
from dgraph.checkpoint.keeper import CheckpointPlan
from dgraph.checkpoint.piece import NUMBERS, REMEDY, CheckpointPiece, name_of, round_of
from dgraph.communities import spread_search
from dgraph.errors import StorageError
from dgraph.partition.manifest import refuse_mismatch, require
from dgraph.runs.progress import Progress
from dgraph.solvers.communities import search
from dgraph.solvers.communities.search import ITERATIONS, NO_NUMBERS, CommunitySearch, Stage

LISTS = ("levels", "numbers")  # the fields of a Stage that are lists of arrays
OPTIONAL = ("begun", "labels")  # those that may be None
WORD = (1 << 64) - 1


@dataclass
class SearchCheckpoints:
    """Writes the checkpoints of one search, and restores the search from the last one of an earlier attempt."""

    plan: CheckpointPlan
    written: float = 0.0  # when the last one was, by the clock of this process
    last: int = 0  # the number of levels in it

    @staticmethod
    def kernels() -> str:
        """A digest of the search, for the identity of a run: another version would go on in another way."""
        files = [*sorted(Path(search.__file__).parent.glob("*.py")), Path(spread_search.__file__)]
        return xxhash.xxh3_64_hexdigest(b"".join(file.read_bytes() for file in files))

    @property
    def folder(self) -> CheckpointFolder:
        assert isinstance(self.plan.store, CheckpointFolder), "nothing is kept in the memory of workers"
        return self.plan.store

    def keep(self, search: CommunitySearch) -> None:
        """Write a checkpoint, if one is due after this level; and remove those before the last two."""
        option = self.plan.option
        if option.every is None and time.monotonic() - self.written < (option.seconds or 0):
            return
        done = search.levels_done
        piece = CheckpointPiece(dict(self.folder.identity), done, 0, 1, _arrays_of(search))
        self.folder.write(name_of(done, self.plan.attempt), piece)
        self.folder.forget(self.last)
        self.written, self.last = time.monotonic(), done

    def restore(self, search: CommunitySearch, vertices: int) -> None:
        """Let a search of a graph of so many vertices begin at the last checkpoint that is whole, if there is one. Dask
        may run the task of a search again after the loss of a worker, so the plan cannot say which one that is."""
        self.written = time.monotonic()
        for name in self.folder.checkpoints():
            with suppress(StorageError):
                arrays = self.folder.read(name, 0).arrays
                with refuse_mismatch(name, REMEDY):
                    stage, state = _stage_of(arrays, vertices), _state_of(arrays["draw"])
                search.stage, search.draw.bit_generator.state = stage, state
                search.resumed_after = self.last = round_of(name)
                return


@dataclass(frozen=True)
class Journal:
    """What is told about a search after each level, and to whom."""

    shown: Progress | None = None
    checkpoints: SearchCheckpoints | None = None

    def open(self, search: CommunitySearch, vertices: int) -> None:
        """Let a search of a graph of so many vertices go on from its last checkpoint, and tell what it finds."""
        if self.checkpoints is not None:
            self.checkpoints.restore(search, vertices)
        search.after_level = self.after_level

    def after_level(self, search: CommunitySearch) -> None:
        if self.checkpoints is not None:
            self.checkpoints.keep(search)
        if self.shown is not None:
            self.shown.after_level(search.levels_done, search.rows)


def _arrays_of(search: CommunitySearch) -> dict[str, np.ndarray]:
    stage, draw = search.stage, search.draw.bit_generator.state
    arrays = {"iteration": np.array(stage.iteration), "quality": np.array(stage.quality)}
    arrays |= {name: value for name in OPTIONAL if (value := getattr(stage, name)) is not None}
    arrays |= {f"{name} {at}": value for name in LISTS for at, value in enumerate(getattr(stage, name))}
    whole = draw["state"]["state"], draw["state"]["inc"], draw["has_uint32"], draw["uinteger"]
    return arrays | {"draw": np.array([[one >> 64, one & WORD] for one in whole], np.uint64), NUMBERS: NO_NUMBERS}


def _stage_of(arrays: Mapping[str, np.ndarray], vertices: int) -> Stage:
    stage = Stage(int(arrays["iteration"]), quality=float(arrays["quality"]))
    own = {name: array.copy() for name, array in arrays.items()}  # kernels expect arrays that can be written
    stage.begun, stage.labels = own.get("begun"), own.get("labels")
    stage.levels, stage.numbers = (
        [own[f"{name} {at}"] for at in range(sum(known.startswith(f"{name} ") for known in own))] for name in LISTS
    )
    require(0 <= stage.iteration < ITERATIONS, "no such iteration")
    require(stage.iteration == 0 or (stage.begun is not None and np.isfinite(stage.quality)), "no earlier communities")
    for found in (*stage.levels, *(() if stage.begun is None else (stage.begun,))):
        _count(found, vertices)
    size = vertices
    for numbers in stage.numbers:
        size = _count(numbers, size)
    if stage.labels is not None:
        _count(stage.labels, size)
    return stage


def _count(labels: np.ndarray, vertices: int) -> int:
    """The number of communities of so many vertices. Kernels read by labels, so these must be numbers without gaps."""
    require(labels.dtype == np.uint32 and labels.shape == (vertices,), "communities of other vertices")
    count = int(labels.max(initial=0)) + 1 if vertices else 0
    require(count <= vertices and np.bincount(labels, minlength=count).all(), "numbers of communities with gaps")
    return count


def _state_of(words: np.ndarray) -> dict[str, Any]:
    state, increment, more, word = ((high << 64) + low for high, low in words.tolist())
    require(increment % 2 and more < 2 and word <= WORD >> 32, "no state of the random number generator")
    inner = {"state": state, "inc": increment}
    return {"bit_generator": "PCG64", "state": inner, "has_uint32": more, "uinteger": word}
