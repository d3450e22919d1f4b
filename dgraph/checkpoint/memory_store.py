"""Pieces in the memory of the workers: each where it was made, and a copy on another worker, in case that is lost.

They belong to one call of `run`, and go with it or with its client.
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

PieceLocations = Mapping[int, tuple[str, ...]]  # of a checkpoint: each piece's number -> the workers that have it

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
    """Let go of pieces of rounds before one, or of all pieces."""
    with _lock:
        if before is None:
            _pieces.pop(run, None)
            return
        for label in [label for label in _pieces.get(run, ()) if round_of(label.checkpoint) < before]:
            del _pieces[run][label]


def forget_client(client: str) -> None:
    """Let go of what a client's runs have left."""
    for run in [run for run in list(_pieces) if run.startswith(client)]:
        forget(run)


def last_complete(found: Mapping[str, list[tuple[str, int, int]]]) -> tuple[str, PieceLocations]:
    """The last checkpoint of which every piece is on some worker, given what each worker has; "" if there is none."""
    places: defaultdict[str, defaultdict[int, tuple[str, ...]]] = defaultdict(lambda: defaultdict(tuple))
    counts: dict[str, int] = {}
    for worker, pieces in found.items():
        for checkpoint, part, parts in pieces:
            places[checkpoint][part] += (worker,)
            counts[checkpoint] = parts
    for checkpoint in sorted(places, reverse=True):
        if len(places[checkpoint]) == counts[checkpoint]:
            return checkpoint, dict(places[checkpoint])
    return "", {}


@dataclass(frozen=True)
class MemoryStore:
    """The checkpoints of one run, and the places of the one to go on from. `run` begins with the client's name."""

    run: str
    places: tuple[tuple[int, tuple[str, ...]], ...] = ()
    identity: tuple[tuple[str, str], ...] = ()
    path = "the workers' memory"

    def at(self, exchange: Any) -> WorkerMemoryStore:
        """The store as a worker of the run sees it."""
        return WorkerMemoryStore(self, exchange)


@dataclass(frozen=True)
class WorkerMemoryStore:
    """A MemoryStore on a worker; `exchange` brings pieces to other workers and from them."""

    memory: MemoryStore
    exchange: Any

    def write(self, checkpoint: str, piece: CheckpointPiece) -> None:
        data, label = to_bytes(piece), PieceLabel(self.memory.run, checkpoint, piece.part)
        put(label, piece.parts, data)
        buddy = backup_worker(self.exchange.route.workers, self.exchange.worker)
        if buddy is not None:
            self.exchange.store_piece(buddy, label, piece.parts, data)

    def read(self, checkpoint: str, part: int) -> CheckpointPiece:
        label = PieceLabel(self.memory.run, checkpoint, part)
        data = take(label)
        for place in dict(self.memory.places)[part]:
            data = data or self.exchange.fetch(place, label)
        if data is None:
            raise LostError(
                f"piece {part} of the checkpoint of superstep {round_of(checkpoint)} went away with its workers"
            )
        return from_bytes(data, f"piece {part} in memory")

    def forget(self, before: int) -> None:
        forget(self.memory.run, before)
