"""A worker's part in checkpoints: it writes pieces of its partitions while the run continues.

Between two rounds, the owners of vertices hold the whole state of a run: states, inboxes, and which vertices send.
Proxies receive their values again on resuming. A piece therefore identifies vertices by number, and a run can resume
with different partitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import numpy as np

from dgraph.checkpoint.folder import KEPT_CHECKPOINTS, CheckpointFolder
from dgraph.checkpoint.memory_store import MemoryStore, WorkerMemoryStore
from dgraph.checkpoint.piece import NUMBERS, CheckpointPiece, name_of, round_of, rows_for
from dgraph.errors import StorageError
from dgraph.options import Checkpoint
from dgraph.programs.kernel_names import field_name, inbox_name, sent_name

SENDERS = " sends"  # the name of the array of next senders; the space keeps it distinct from names of fields
WRITE_TIMEOUT = 120.0  # seconds that a run waits for a checkpoint to be written when the next one is due
GLOBAL_PREFIX = "global "  # the prefix of names of global values


@dataclass(frozen=True)
class CheckpointSeries:
    """The checkpoints of one run of a program. An operation may make several runs."""

    option: Checkpoint
    part: str = ""  # distinguishes the runs of one operation
    memory: MemoryStore | None = None  # the store if there is no path

    @classmethod
    def for_run(cls, option: Checkpoint, part: str, client: Any) -> CheckpointSeries | None:
        """The series for one run. Without a cluster, nothing is kept in memory, because no worker can be lost."""
        if option.path is not None:
            return cls(option, part)
        return None if client is None else cls(option, part, MemoryStore(f"{client.id}-{uuid4().hex}"))


@dataclass(frozen=True)
class CheckpointPlan:
    """The workers' instructions: where to write checkpoints, how often, and which one to resume from."""

    store: CheckpointFolder | MemoryStore
    option: Checkpoint
    name: str = ""  # the checkpoint to resume from; empty if there is none
    parts: int = 0  # the number of its pieces
    attempt: str = field(default_factory=lambda: uuid4().hex[:8])  # this attempt at the run, in names of checkpoints

    @property
    def round(self) -> int:
        """The round after which the checkpoint to resume from was written; 0 if there is none."""
        return round_of(self.name)


@dataclass
class CheckpointWriter:
    """A thread that writes the pieces of one worker while its run continues."""

    plan: CheckpointPlan
    _writing: list[Future] = field(default_factory=list)
    _pool: ThreadPoolExecutor | None = None

    def submit(self, call: Callable[..., None], *arguments: Any) -> None:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "dgraph-checkpoint")
        self._writing.append(self._pool.submit(call, *arguments))

    def wait(self, round: int) -> None:
        """Wait until the pieces of the last checkpoint, after this round, are written. Raises on failure or timeout."""
        if wait(self._writing, WRITE_TIMEOUT).not_done:
            raise StorageError(
                f"{self.plan.store.path}: the checkpoint of superstep {round} was not written within another "
                f"{WRITE_TIMEOUT:g} s; use a file system that responds, or raise every={self.plan.option.every}"
            )
        for future in self._writing:
            future.result()
        self._writing = []

    def close(self, round: int) -> None:
        """Called when the run is over."""
        self.wait(round)
        if self._pool is not None:
            self._pool.shutdown()


@dataclass
class CheckpointKeeper:
    """Writes the checkpoints of one worker. Arguments `rounds` are the worker's `Rounds`, between two rounds."""

    plan: CheckpointPlan
    store: CheckpointFolder | WorkerMemoryStore  # as this worker sees it
    last: int = 0  # the round of the last checkpoint
    rounds_kept: list[int] = field(default_factory=list)
    _opened: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.writer = CheckpointWriter(self.plan)

    @property
    def overdue(self) -> bool:
        seconds = self.plan.option.seconds
        return seconds is not None and time.monotonic() - self._opened >= seconds

    def is_due(self, round: int, overdue: bool) -> bool:
        """Whether to write a checkpoint now. All workers pass the same arguments, so all decide alike."""
        every = self.plan.option.every
        return round > self.last and (overdue or (every is not None and round - self.last >= every))

    def wait(self) -> None:
        self.writer.wait(self.last)

    def close(self) -> None:
        self.writer.close(self.last)

    def keep(self, rounds: Any) -> None:
        """Begin to write a checkpoint. Once all workers have reached this call, the previous checkpoint is complete
        everywhere, so older ones are removed."""
        self.last, self._opened = rounds.round, time.monotonic()
        self.rounds_kept.append(rounds.round)
        identity, name = dict(self.plan.store.identity), name_of(rounds.round, self.plan.attempt)
        for state in rounds.states:
            arrays = {**globals_of(rounds.globals.values), **arrays_of(state)}
            piece = CheckpointPiece(identity, rounds.round, state.partition.index, state.partition.parts, arrays)
            self.writer.submit(self.store.write, name, piece)
        if len(self.rounds_kept) > KEPT_CHECKPOINTS:
            self.writer.submit(self.store.forget, self.rounds_kept[-KEPT_CHECKPOINTS])

    def restore(self, rounds: Any) -> None:
        """Restore this worker's states from the checkpoint to resume from."""
        plan = self.plan
        pieces = {part: self.store.read(plan.name, part) for part in range(plan.parts)}
        numbers = [state.partition.numbers[: state.n] for state in rounds.states]
        restore_arrays(rounds, plan.round, [rows_for(pieces, one, plan.store.path) for one in numbers])
        self.last = plan.round
        self.rounds_kept.append(plan.round)


def restore_arrays(rounds: Any, round: int, rows: Sequence[dict[str, np.ndarray]]) -> None:
    """Restore a worker's states after a round; `rows` has the arrays of the vertices of each state."""
    for state, arrays in zip(rounds.states, rows, strict=True):
        for name in fields_of(state):
            state.arrays.write(state.values[name], np.arange(state.n, dtype=np.uint32), arrays[name])
        senders = np.flatnonzero(arrays[SENDERS]).astype(np.uint32)
        state.frontier.send(state.arrays.first(state.arrays.to_device(senders), len(senders)))
        state.arrays.fill(state.values["arrived"], 0, False)
        state.frontier.clear()
        state.resume(rounds.phase)
        known = {n.removeprefix(GLOBAL_PREFIX): v[()].item() for n, v in arrays.items() if n.startswith(GLOBAL_PREFIX)}
        rounds.globals.put(known)
    rounds.round = rounds.agreed = round
    rounds.seeded = False
    rounds.waiting = sum(len(state.frontier.senders) for state in rounds.states)


def fields_of(state: Any) -> Sequence[str]:
    """The names of the arrays that a round leaves for the next: states and, in accumulative programs, inboxes and
    messages to send."""
    analysis = state.analysis
    names = [field_name(one.name) for one in analysis.states]
    if not analysis.synchronous:
        for phase in analysis.phases:
            names += [array(phase, message) for message in phase.messages for array in (inbox_name, sent_name)]
    return [name for name in names if name in state.values]


def globals_of(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Global values as arrays, under names that no field can have."""
    return {f"{GLOBAL_PREFIX}{name}": np.array(value) for name, value in values.items()}


def arrays_of(state: Any) -> dict[str, np.ndarray]:
    """Copies of these arrays for the owned vertices. They are copies because the run continues while it writes them."""
    state.halt()
    arrays = {name: state.arrays.to_host(state.values[name], state.n).copy() for name in fields_of(state)}
    sends = np.zeros(state.n, bool)
    senders = state.frontier.senders
    sends[state.arrays.to_host(senders, len(senders))] = True
    return {NUMBERS: state.partition.numbers[: state.n], **arrays, SENDERS: sends}
