"""Checkpoints in the memory of workers. Each piece is kept on the worker that made it, with a copy on another worker.

Checkpoints belong to one call of `run`, and are dropped when it ends or its client leaves.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dgraph.checkpoint.piece import CheckpointPiece, PieceLabel, from_bytes, round_of, to_bytes
from dgraph.errors import LostError
from dgraph.native.hosts import backup_worker

PieceLocations = Mapping[int, tuple[str, ...]]  # the number of each piece of a checkpoint -> the workers that have it

# run -> piece -> how many parts its checkpoint has, and the piece as bytes
_pieces: defaultdict[str, dict[PieceLabel, tuple[int, bytes]]] = defaultdict(dict)
_lock = threading.Lock()


def put(label: PieceLabel, parts: int, data: bytes) -> None:
    with _lock:
        _pieces[label.run][label] = parts, data


def take(label: PieceLabel) -> bytes | None:
    return _pieces.get(label.run, {}).get(label, (0, None))[1]


def stored_pieces(run: str) -> list[tuple[str, int, int]]:
    """(Checkpoint, part, number of parts) of each piece on this worker."""
    with _lock:
        return [(label.checkpoint, label.part, parts) for label, (parts, _) in _pieces.get(run, {}).items()]


def forget(run: str, before: int | None = None) -> None:
    """Drop the pieces of rounds before `before`, or all pieces of the run."""
    with _lock:
        if before is None:
            _pieces.pop(run, None)
            return
        for label in [label for label in _pieces.get(run, ()) if round_of(label.checkpoint) < before]:
            del _pieces[run][label]


def forget_client(client: str) -> None:
    """Drop all pieces of a client's runs."""
    for run in [run for run in list(_pieces) if run.startswith(client)]:
        forget(run)


def last_complete(pieces_of_workers: Mapping[str, list[tuple[str, int, int]]]) -> tuple[str, PieceLocations]:
    """The last complete checkpoint, given the `stored_pieces` of each worker; "" if there is none."""
    places: defaultdict[str, defaultdict[int, tuple[str, ...]]] = defaultdict(lambda: defaultdict(tuple))
    counts: dict[str, int] = {}
    for worker, pieces in pieces_of_workers.items():
        for checkpoint, part, parts in pieces:
            places[checkpoint][part] += (worker,)
            counts[checkpoint] = parts
    for checkpoint in sorted(places, reverse=True):
        if len(places[checkpoint]) == counts[checkpoint]:
            return checkpoint, dict(places[checkpoint])
    return "", {}


@dataclass(frozen=True)
class MemoryStore:
    """The checkpoints of one run, and the locations of the pieces to resume from. `run` begins with the client's
    name."""

    run: str
    places: tuple[tuple[int, tuple[str, ...]], ...] = ()
    identity: tuple[tuple[str, str], ...] = ()
    path = "the workers' memory"

    def on_worker(self, exchange: Any) -> WorkerMemoryStore:
        """The store as a worker of the run sees it."""
        return WorkerMemoryStore(self, exchange)


@dataclass(frozen=True)
class WorkerMemoryStore:
    """A MemoryStore on a worker. `exchange` copies pieces to and from other workers."""

    memory: MemoryStore
    exchange: Any

    def write(self, checkpoint: str, piece: CheckpointPiece) -> None:
        data, label = to_bytes(piece), PieceLabel(self.memory.run, checkpoint, piece.part)
        put(label, piece.parts, data)
        backup = backup_worker(self.exchange.route.workers, self.exchange.worker)
        if backup is not None:
            self.exchange.store_piece(backup, label, piece.parts, data)

    def read(self, checkpoint: str, part: int) -> CheckpointPiece:
        label = PieceLabel(self.memory.run, checkpoint, part)
        data = take(label)
        for place in dict(self.memory.places)[part]:
            data = data or self.exchange.fetch_piece(place, label)
        if data is None:
            piece = f"piece {part} of the checkpoint of superstep {round_of(checkpoint)}"
            raise LostError(f"{piece} was lost with the workers that held it")
        return from_bytes(data, f"piece {part} in memory")

    def forget(self, before: int) -> None:
        forget(self.memory.run, before)
