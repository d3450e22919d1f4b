"""Finds where a run with checkpoints starts: from its last complete checkpoint, or from the beginning."""

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

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.checkpoint.fingerprint import fingerprint
from dgraph.checkpoint.folder import FOLDER_REMEDY, CheckpointFolder
from dgraph.checkpoint.keeper import CheckpointPlan, CheckpointSeries
from dgraph.checkpoint.memory_store import MemoryStore, last_complete, stored_pieces
from dgraph.checkpoint.memory_store import forget as forget_here
from dgraph.cluster.scheduler import ask_all, run_on_each
from dgraph.codegen.recipe import Recipe
from dgraph.errors import OptionError, StorageError
from dgraph.options import Checkpoint
from dgraph.runs.job import unpack
from dgraph.runs.plan import Plan

REMEDY = "choose another path, or remove the checkpoints"


def checkpoints_for(
    graph: PartitionedGraph, recipe: Recipe, plan: Plan, series: CheckpointSeries, shares: Sequence[Any]
) -> CheckpointPlan:
    """The checkpoints of this run. If there are checkpoints of the same program with different inputs, raises an error
    that names the difference."""
    option = series.option
    if series.memory is not None:
        return _in_memory(graph, option, series.memory)
    return checkpoints_in(graph, option, recipe.analysis.name, _identity(graph, recipe, plan, shares), series.part)


def checkpoints_in(
    graph: PartitionedGraph, option: Checkpoint, program: str, identity: dict[str, str], part: str = ""
) -> CheckpointPlan:
    """The checkpoints under a path of the run with this identity, which goes on from the last one that is complete."""
    folder = CheckpointFolder(_absolute(option.path), f"{program}{part}", tuple(identity.items()))
    _check_place(graph, folder)
    for name in folder.checkpoints():
        parts = folder.parts(name)
        checks = [graph.workers.call(_is_whole, folder, name, part) for part in range(parts)]
        if parts and all(graph.workers.get(checks)):
            return CheckpointPlan(folder, option, name, parts)
    for other in folder.others():
        theirs = other.identity
        pairs = [(what, theirs.get(what), mine) for what, mine in identity.items() if theirs.get(what) != mine]
        differs = "; ".join(f"{what} is {mine} and was {before}" for what, before, mine in pairs)
        raise OptionError(f"checkpoint={folder.path!r} belongs to another run of {program}: {differs}; {REMEDY}")
    return CheckpointPlan(folder, option)


def _check_place(graph: PartitionedGraph, folder: CheckpointFolder) -> None:
    """Reject, before the work starts, a path that is not writable, or that is not the same folder for all workers (such
    as a local disk of each host), because no run could resume from it."""
    meeting = f".meeting-{uuid4().hex}"
    if graph.client is None:
        folder.write_marker(meeting, "this process")
        folder.remove_markers(meeting)
        return
    workers = graph.workers.addresses
    each = partial(run_on_each, graph.client, workers)
    try:
        each(lambda _, number: folder.write_marker(meeting, str(number)))
        seen = {**each(lambda *_: folder.markers(meeting)), "this process": folder.markers(meeting)}
        for who, signed in seen.items():
            if absent := [worker for number, worker in enumerate(workers) if str(number) not in signed]:
                each(lambda *_: folder.remove_markers(meeting))
                raise StorageError(
                    f"{folder.path}: {who} cannot see the files that {absent[0]} writes; {FOLDER_REMEDY}"
                )
    finally:
        folder.remove_markers(meeting)


def _in_memory(graph: PartitionedGraph, option: Checkpoint, store: MemoryStore) -> CheckpointPlan:
    """The checkpoints of this call, which is being retried after a loss."""
    name, places = last_complete(ask_all(graph.client, stored_pieces, store.run))
    return CheckpointPlan(replace(store, places=tuple(places.items())), option, name, len(places))


def forget(graph: PartitionedGraph, store: CheckpointFolder | MemoryStore) -> None:
    """Remove the checkpoints, because nothing will resume from them."""
    if isinstance(store, CheckpointFolder):
        store.forget()
    elif graph.client.status == "running":
        ask_all(graph.client, forget_here, store.run)


@contextmanager
def forget_on_failure(graph: PartitionedGraph, series: CheckpointSeries) -> Iterator[None]:
    """If the body fails for good, remove the checkpoints that this call left in the workers' memory."""
    try:
        yield
    except BaseException:
        if series.memory is not None:
            forget(graph, series.memory)
        raise


def _identity(graph: PartitionedGraph, recipe: Recipe, plan: Plan, shares: Sequence[Any]) -> dict[str, str]:
    """The properties that make two runs the same. The engine, the partitions and the workers may differ."""
    reads = [name for name, _ in graph.columns_for(recipe.analysis).values()]
    return {
        "kernels": recipe.source.digest,
        **graph_identity(graph, shares, reads, twice=plan.round_options.twice),
        "max_rounds": str(plan.max_rounds),
        "random_seed": str(plan.round_options.random_seed),
        "deterministic": str(plan.round_options.deterministic),
        **{name: as_text(value) for name, value in sorted(recipe.values.items())},
    }


def graph_identity(
    graph: PartitionedGraph, shares: Sequence[Any], reads: Sequence[str], *, twice: bool = False
) -> dict[str, str]:
    """The properties of a graph that must be the same for two runs to be the same; `reads` are columns of edges."""
    prints = graph.workers.get([graph.workers.call(_fingerprint, one, reads, twice) for one in shares])
    return {
        "vertices": str(graph.num_vertices),
        "directed": str(graph.directed),
        "edges and columns": f"{sum(prints) % (1 << 64):016x}",
    }


def as_text(value: Any) -> str:
    if np.ndim(value) == 0:
        return repr(np.asarray(value).item())
    array = np.ascontiguousarray(value)
    return f"{array.shape} {xxhash.xxh3_64_hexdigest(array.tobytes())}"


def _fingerprint(share: Any, reads: Sequence[str], twice: bool) -> int:
    return fingerprint(*unpack(share), reads, twice=twice)


def _is_whole(folder: CheckpointFolder, checkpoint: str, part: int) -> bool:
    try:
        folder.read(checkpoint, part)
    except StorageError:
        return False
    return True


def _absolute(path: Any) -> str:
    """The absolute path, because workers may have been started in a different folder."""
    name = os.fspath(path)
    return name if "://" in name or "::" in name else str(Path(name).expanduser().absolute())
