"""Finds where a run with checkpoints starts: from its last complete checkpoint, or from the beginning."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import xxhash
from numba import uint64

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.checkpoint.folder import FOLDER_REMEDY, CheckpointFolder
from dgraph.checkpoint.keeper import CheckpointPlan, CheckpointSeries
from dgraph.checkpoint.memory_store import MemoryStore, last_complete, stored_pieces
from dgraph.checkpoint.memory_store import forget as forget_here
from dgraph.cluster.scheduler import ask_all, run_on_each
from dgraph.codegen.recipe import Recipe
from dgraph.errors import OptionError, StorageError
from dgraph.native.machine_code import cached_njit
from dgraph.options import Checkpoint
from dgraph.runs.job import unpack
from dgraph.runs.plan import Plan

# -- fingerprints, which distinguish graphs however they are partitioned -----------------------------------------------

FIRST_FACTOR, SECOND_FACTOR = uint64(0x9E3779B97F4A7C15), uint64(0xC2B2AE3D27D4EB4F)


def fingerprint(
    partition: Any, columns: Mapping[str, np.ndarray], reads: Iterable[str] = (), *, twice: bool = False
) -> int:
    """One partition's share of the fingerprint, which is the sum over all partitions: a sum over edges, with the
    columns that a run reads, and over columns of owned vertices. With `twice`, edges are stored with the owners of both
    ends, and count only with the owner of the first."""
    total, names = 0, set(reads)
    sides = (partition.out, False), (partition.incoming, True)
    having = [(side, turned) for side, turned in sides if side is not None and side.columns.keys() >= names]
    for side, turned in having[:1]:
        numbers = partition.numbers.astype(np.uint64)
        none = np.zeros(0, np.uint64)
        limit = partition.num_owned if twice else partition.num_local
        for column in [none, *(_bits(side.columns[name]) for name in names)]:
            total += int(_edges(side.indptr, side.neighbours, numbers, column, turned, limit))
    owned = partition.numbers[: partition.num_owned].astype(np.uint64)
    for name in sorted(columns):
        total += int(
            (_mixed(owned * SECOND_FACTOR + np.uint64(len(name))) * (_bits(columns[name]) | np.uint64(1))).sum()
        )
    return total % (1 << 64)


def _bits(values: np.ndarray) -> np.ndarray:
    words = np.ascontiguousarray(values.astype(np.float64)).view(np.uint64)
    if words.ndim == 1:
        return words
    return reduce(lambda found, component: _mixed(found) ^ component, words.T)


def _mixed(x: np.ndarray) -> np.ndarray:
    x = x * np.uint64(FIRST_FACTOR)
    return x ^ (x >> np.uint64(29))


@cached_njit()
def _edges(indptr, neighbours, numbers, column, turned, limit):
    total = uint64(0)
    for row in range(uint64(len(indptr) - 1)):
        for e in range(uint64(indptr[row]), uint64(indptr[row + uint64(1)])):
            first, second = uint64(row), uint64(neighbours[e])
            if turned:
                first, second = second, first
            if first >= limit:
                continue
            u, v = numbers[first], numbers[second]
            x = (u * FIRST_FACTOR) ^ (v * SECOND_FACTOR + uint64(1))
            x = (x ^ (x >> uint64(31))) * FIRST_FACTOR
            x ^= x >> uint64(29)
            total += x * (column[e] | uint64(1)) if len(column) else x
    return total


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
