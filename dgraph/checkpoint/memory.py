"""Pieces in the memory of the workers: each where it was made, and a copy on another worker, in case that is lost.

They belong to one call of `run`, and go with it or with its client.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dgraph.checkpoint.piece import Piece, from_bytes, round_of, to_bytes
from dgraph.errors import LostError
from dgraph.exchange.hosts import neighbour

Whereabouts = Mapping[int, tuple[str, ...]]  # of a checkpoint: each piece's number -> the workers that have it

# run -> (name of a checkpoint, part) -> how many parts it has, and the piece
_pieces: defaultdict[str, dict[tuple[str, int], tuple[int, bytes]]] = defaultdict(dict)
_lock = threading.Lock()


def put(run: str, checkpoint: str, part: int, parts: int, data: bytes) -> None:
    with _lock:
        _pieces[run][checkpoint, part] = parts, data


def take(run: str, checkpoint: str, part: int) -> bytes | None:
    return _pieces.get(run, {}).get((checkpoint, part), (0, None))[1]


def listed(run: str) -> list[tuple[str, int, int]]:
    """(Checkpoint, part, number of parts) of each piece on this worker."""
    with _lock:
        return [(checkpoint, part, parts) for (checkpoint, part), (parts, _) in _pieces.get(run, {}).items()]


def forget(run: str, before: int | None = None) -> None:
    """Let go of pieces of rounds before one, or of all pieces."""
    with _lock:
        if before is None:
            _pieces.pop(run, None)
        for place in [place for place in _pieces.get(run, ()) if before is not None and round_of(place[0]) < before]:
            del _pieces[run][place]


def forget_client(client: str) -> None:
    """Let go of what a client's runs have left."""
    for run in [run for run in list(_pieces) if run.startswith(client)]:
        forget(run)


def whole(found: Mapping[str, list[tuple[str, int, int]]]) -> tuple[str, Whereabouts]:
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

    def at(self, exchange: Any) -> MemoryHere:
        """The store as a worker of the run sees it."""
        return MemoryHere(self, exchange)


@dataclass(frozen=True)
class MemoryHere:
    """A MemoryStore on a worker; `exchange` brings pieces to other workers and from them."""

    memory: MemoryStore
    exchange: Any

    def write(self, checkpoint: str, piece: Piece) -> None:
        data, run = to_bytes(piece), self.memory.run
        put(run, checkpoint, piece.part, piece.parts, data)
        buddy = neighbour(self.exchange.route.workers, self.exchange.worker)
        if buddy is not None:
            self.exchange.lodge(buddy, run, checkpoint, piece.part, piece.parts, data)

    def read(self, checkpoint: str, part: int) -> Piece:
        data = take(self.memory.run, checkpoint, part)
        for place in dict(self.memory.places)[part]:
            data = data or self.exchange.fetch(place, self.memory.run, checkpoint, part)
        if data is None:
            raise LostError(
                f"piece {part} of the checkpoint of superstep {round_of(checkpoint)} went away with its workers"
            )
        return from_bytes(data, f"piece {part} in memory")

    def forget(self, before: int) -> None:
        forget(self.memory.run, before)
