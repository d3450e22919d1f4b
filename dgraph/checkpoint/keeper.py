"""What a worker does for checkpoints: pieces of its partitions are written while the run goes on.

Between two rounds, all that matters is with the vertices' owners: their states, their inboxes, and who sends. What
proxies hold is sent to them again. So a piece is of vertices by their numbers, and fits any partitions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import numpy as np

from dgraph.checkpoint.checkpoint import Checkpoint
from dgraph.checkpoint.folder import KEPT_CHECKPOINTS, CheckpointFolder
from dgraph.checkpoint.memory_store import MemoryStore, WorkerMemoryStore
from dgraph.checkpoint.piece import NUMBERS, CheckpointPiece, name_of, round_of, rows_for
from dgraph.errors import StorageError
from dgraph.programs.kernel_names import field_name, inbox_name, sent_name

SENDERS = " sends"  # the array of who sends next: the name of no field
WRITE_TIMEOUT = 120.0  # seconds that a run waits for a checkpoint to be written when the next one is due
GLOBAL_PREFIX = "global "  # before the names of global values


@dataclass(frozen=True)
class CheckpointPlan:
    """What travels to the workers: where checkpoints go, how often one is made, and the one to begin with."""

    store: CheckpointFolder | MemoryStore
    option: Checkpoint
    name: str = ""  # of the checkpoint to go on from, if there is one
    parts: int = 0  # its pieces
    attempt: str = field(default_factory=lambda: uuid4().hex[:8])  # at the run, which the names of its checkpoints tell

    @property
    def round(self) -> int:
        """The round after which the checkpoint to go on from was made; 0: there is none."""
        return round_of(self.name)


@dataclass
class CheckpointKeeper:
    """One worker's part. Arguments `rounds` are the worker's `Rounds`, between two rounds."""

    kept: CheckpointPlan
    store: CheckpointFolder | WorkerMemoryStore  # as this worker sees it
    last: int = 0  # round of the last checkpoint
    made: list[int] = field(default_factory=list)
    _opened: float = field(default_factory=time.monotonic)
    _writing: list[Future] = field(default_factory=list)
    _pool: ThreadPoolExecutor | None = None

    @property
    def overdue(self) -> bool:
        seconds = self.kept.option.seconds
        return seconds is not None and time.monotonic() - self._opened >= seconds

    def is_due(self, round: int, overdue: bool) -> bool:
        """Whether to make a checkpoint now; the same on all workers, because they know the same."""
        every = self.kept.option.every
        return round > self.last and (overdue or (every is not None and round - self.last >= every))

    def wait(self) -> None:
        """Wait until the pieces of the last checkpoint are written; raises if one cannot be, or not soon."""
        late = wait(self._writing, WRITE_TIMEOUT).not_done
        if late:
            raise StorageError(
                f"{self.kept.store.path}: the checkpoint of superstep {self.last} is not written after "
                f"{WRITE_TIMEOUT:g} s more of waiting; give a file system that answers, or "
                f"every={self.kept.option.every} a larger number"
            )
        for future in self._writing:
            future.result()
        self._writing = []

    def close(self) -> None:
        """Called when the run is over."""
        self.wait()
        if self._pool is not None:
            self._pool.shutdown()

    def keep(self, rounds: Any) -> None:
        """Begin to write a checkpoint. When all workers have come here, the pieces that `wait` waited for are whole
        everywhere, so older checkpoints can go."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "dgraph-checkpoint")
        self.last, self._opened = rounds.round, time.monotonic()
        self.made.append(rounds.round)
        identity, name = dict(self.kept.store.identity), name_of(rounds.round, self.kept.attempt)
        for state in rounds.states:
            arrays = {**globals_of(rounds.globals.values), **arrays_of(state)}
            piece = CheckpointPiece(identity, rounds.round, state.partition.index, state.partition.parts, arrays)
            self._writing.append(self._pool.submit(self.store.write, name, piece))
        if len(self.made) > KEPT_CHECKPOINTS:
            self._writing.append(self._pool.submit(self.store.forget, self.made[-KEPT_CHECKPOINTS]))

    def restore(self, rounds: Any) -> None:
        """Put this worker where the run was."""
        kept = self.kept
        pieces = {part: self.store.read(kept.name, part) for part in range(kept.parts)}
        numbers = [state.partition.numbers[: state.n] for state in rounds.states]
        restore_arrays(rounds, kept.round, [rows_for(pieces, one, kept.store.path) for one in numbers])
        self.last = kept.round
        self.made.append(kept.round)


def restore_arrays(rounds: Any, round: int, rows: Sequence[dict[str, np.ndarray]]) -> None:
    """Put a worker where the run was after a round; `rows` has, for each state, the arrays of its vertices."""
    for state, found in zip(rounds.states, rows, strict=True):
        for name in fields_of(state):
            state.arrays.write(state.values[name], np.arange(state.n, dtype=np.uint32), found[name])
        senders = np.flatnonzero(found[SENDERS]).astype(np.uint32)
        state.frontier.send(state.arrays.first(state.arrays.to_device(senders), len(senders)))
        state.arrays.fill(state.values["arrived"], 0, False)
        state.frontier.clear()
        state.resume(rounds.phase)
        known = {n.removeprefix(GLOBAL_PREFIX): v[()].item() for n, v in found.items() if n.startswith(GLOBAL_PREFIX)}
        rounds.globals.put(known)
    rounds.round = rounds.agreed = round
    rounds.seeded = False
    rounds.waiting = sum(len(state.frontier.senders) for state in rounds.states)


def fields_of(state: Any) -> Sequence[str]:
    """The arrays that a round leaves for the next: states; in accumulative programs also inboxes, and what is about to
    be sent."""
    analysis = state.analysis
    names = [field_name(one.name) for one in analysis.states]
    if not analysis.synchronous:
        for phase in analysis.phases:
            names += [array(phase, message) for message in phase.messages for array in (inbox_name, sent_name)]
    return [name for name in names if name in state.values]


def globals_of(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Global values, by names that no field has."""
    return {f"{GLOBAL_PREFIX}{name}": np.array(value) for name, value in values.items()}


def arrays_of(state: Any) -> dict[str, np.ndarray]:
    """Copies of these arrays for the owned vertices, because the run goes on."""
    state.halt()
    arrays = {name: state.arrays.to_host(state.values[name], state.n).copy() for name in fields_of(state)}
    sends = np.zeros(state.n, bool)
    senders = state.frontier.senders
    sends[state.arrays.to_host(senders, len(senders))] = True
    return {NUMBERS: state.partition.numbers[: state.n], **arrays, SENDERS: sends}
