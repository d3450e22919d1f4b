"""Where a run with checkpoints begins: at its last whole checkpoint, or at the start."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import xxhash

from dgraph.checkpoint.checkpoint import Checkpoint, CheckpointSeries
from dgraph.checkpoint.fingerprint import fingerprint
from dgraph.checkpoint.folder import WHERE, Folder
from dgraph.checkpoint.keeper import CheckpointSettings
from dgraph.checkpoint.memory_store import MemoryStore, last_complete, stored_pieces
from dgraph.checkpoint.memory_store import forget as forget_here
from dgraph.cluster.waits import run_on_each
from dgraph.codegen.recipe import Recipe
from dgraph.errors import OptionError, StorageError
from dgraph.graph import Graph
from dgraph.plan import Plan
from dgraph.runs.run_inputs import edge_columns_of
from dgraph.runs.vertex_columns import detach_columns

REMEDY = "give another path, or remove what is there"


def checkpoints_for(graph: Graph, recipe: Recipe, plan: Plan, given: Sequence[Any]) -> CheckpointSettings | None:
    """The checkpoints of this run, if it makes any. Checkpoints of the same program on something else are refused, with
    what differs."""
    if (series := plan.checkpoints) is None:
        return None
    option = series.option
    if series.memory is not None:
        return _in_memory(graph, option, series.memory)
    identity = _identity(graph, recipe, plan, given)
    folder = Folder(_from_anywhere(option.path), f"{recipe.analysis.name}{series.part}", tuple(identity.items()))
    _check_place(graph, folder)
    for name in folder.checkpoints():
        parts = folder.parts(name)
        checks = [graph.workers.call(_is_whole, folder, name, part) for part in range(parts)]
        if parts and all(graph.workers.get(checks)):
            return CheckpointSettings(folder, option, name, parts)
    for other in folder.others():
        theirs = other.identity
        pairs = [(what, theirs.get(what), mine) for what, mine in identity.items() if theirs.get(what) != mine]
        differs = "; ".join(f"{what} is {mine} and was {said}" for what, said, mine in pairs)
        raise OptionError(
            f"checkpoint={folder.path!r} is of another run of {recipe.analysis.name}: {differs}; {REMEDY}"
        )
    return CheckpointSettings(folder, option)


def _check_place(graph: Graph, folder: Folder) -> None:
    """Refuse, before the work begins, a path where nothing can be written, or one that is not the same place for all
    workers (a disk of each host, say): nobody could go on from there."""
    meeting = f".meeting-{uuid4().hex}"
    if graph.client is None:
        folder.sign(meeting, "this process")
        folder.erase(meeting)
        return
    workers = graph.workers.addresses
    each = partial(run_on_each, graph.client, workers)
    try:
        each(lambda _, number: folder.sign(meeting, str(number)))
        seen = {**each(lambda *_: folder.signed(meeting)), "this process": folder.signed(meeting)}
        for who, signed in seen.items():
            if absent := [worker for number, worker in enumerate(workers) if str(number) not in signed]:
                each(lambda *_: folder.erase(meeting))
                raise StorageError(f"{folder.path}: what {absent[0]} writes there {who} does not see; {WHERE}")
    finally:
        folder.erase(meeting)


def _in_memory(graph: Graph, option: Checkpoint, store: MemoryStore) -> CheckpointSettings:
    """The checkpoints of this very call, which is being made again after a loss."""
    name, places = last_complete(graph.client.run(stored_pieces, store.run, on_error="ignore"))
    return CheckpointSettings(replace(store, places=tuple(places.items())), option, name, len(places))


def forget(graph: Graph, store: Folder | MemoryStore) -> None:
    """Remove the checkpoints: nobody will go on from them."""
    if isinstance(store, Folder):
        store.forget()
    elif graph.client.status == "running":
        graph.client.run(forget_here, store.run, on_error="ignore")


@contextmanager
def forgetting(graph: Graph, series: CheckpointSeries | None) -> Iterator[None]:
    """If the body fails for good, remove what this call has left in the memory of the workers."""
    try:
        yield
    except BaseException:
        if series is not None and series.memory is not None:
            forget(graph, series.memory)
        raise


def _identity(graph: Graph, recipe: Recipe, plan: Plan, given: Sequence[Any]) -> dict[str, str]:
    """What makes it the same run; the engine, the partitions and the workers may be others."""
    reads = [name for name, _ in edge_columns_of(graph, recipe.analysis).values()]
    prints = graph.workers.get([graph.workers.call(_fingerprint, one, reads, plan.switches.twice) for one in given])
    return {
        "kernels": recipe.source.digest,
        "vertices": str(graph.num_vertices),
        "directed": str(graph.directed),
        "edges and columns": f"{sum(prints) % (1 << 64):016x}",
        "max_rounds": str(plan.max_rounds),
        "random_seed": str(plan.switches.random_seed),
        "deterministic": str(plan.switches.deterministic),
        **{name: _said(value) for name, value in sorted(recipe.values.items())},
    }


def _said(value: Any) -> str:
    if np.ndim(value) == 0:
        return repr(np.asarray(value).item())
    array = np.ascontiguousarray(value)
    return f"{array.shape} {xxhash.xxh3_64_hexdigest(array.tobytes())}"


def _fingerprint(given: Any, reads: Sequence[str], twice: bool) -> int:
    return fingerprint(*detach_columns(given), reads, twice=twice)


def _is_whole(folder: Folder, checkpoint: str, part: int) -> bool:
    try:
        folder.read(checkpoint, part)
    except StorageError:
        return False
    return True


def _from_anywhere(path: Any) -> str:
    """The path as workers find it, which may have been started in another folder."""
    name = os.fspath(path)
    return name if "://" in name or "::" in name else str(Path(name).expanduser().absolute())
