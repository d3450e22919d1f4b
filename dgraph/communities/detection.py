"""Runs Louvain or Leiden on a graph, and returns the communities of each level as a result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from dgraph.arguments import AUTO, check_choice, check_flag, check_integer, check_positive, is_default, is_number
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.building.weights import check_weights
from dgraph.checkpoint.folder import CheckpointFolder
from dgraph.checkpoint.keeper import CheckpointPlan
from dgraph.checkpoint.piece import NUMBERS, REMEDY, CheckpointPiece, name_of, round_of
from dgraph.cluster.scheduler import hearing_of_silence
from dgraph.communities import spread_search
from dgraph.communities.labels import PreviousDivision, read_previous
from dgraph.communities.spread_search import SpreadSearch
from dgraph.devices.probe import CPU
from dgraph.errors import OptionError, RunError, StorageError, WeightError
from dgraph.keywords import CheckpointLike, ProgressLike
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_interruptibly
from dgraph.options import Checkpoint
from dgraph.partition.adjacency import Adjacency, EdgeSlice, build
from dgraph.partition.manifest import refuse_mismatch, require
from dgraph.partition.partition import Partition
from dgraph.phrases.phrases import format_option
from dgraph.runs.execution import recoverable_result
from dgraph.runs.progress import Progress
from dgraph.runs.result import RunResult
from dgraph.runs.resumption import as_text, checkpoints_in, graph_identity
from dgraph.runs.run_options import LOCAL, RunOptions
from dgraph.runs.worker_results import VertexValues, WorkerResult, single_call_row
from dgraph.solvers.communities import search
from dgraph.solvers.communities.search import ITERATIONS, NO_NUMBERS, CommunitySearch, Hierarchy, Stage, smallest_of
from dgraph.solvers.communities.ties import Level, NullModel, Ties, level_weights, row_sums

if TYPE_CHECKING:
    import dask.dataframe as dd

COMMUNITY, LEIDEN = "community", "leiden"
MODULARITY, CPM = OBJECTIVES = ("modularity", "cpm")
NONE = np.zeros(0)
LACK = "the communities of a graph", "find them"  # what there may not be enough memory for
LISTS = ("levels", "numbers")  # the fields of a Stage that are lists of arrays
OPTIONAL = ("begun", "labels")  # those that may be None
WORD = (1 << 64) - 1


class CommunityResult(RunResult):
    """The result of `dgraph.louvain` or `dgraph.leiden`: a `RunResult` that also has the communities of each level.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2, 3, 4], "dst": [1, 2, 0, 3, 4, 5]}, directed=False)
    >>> result = dg.louvain(G)
    >>> result.compute()["community"].tolist(), round(result.totals["modularity"], 4)
    ([0, 0, 0, 3, 3, 3], 0.3194)
    """

    every_level: RunResult  # a column for each level but the last, and `community`

    @property
    def levels(self) -> list[dd.DataFrame]:
        """The communities of each level, from fine to coarse, as lazy Dask frames like `RunResult.frame`.

        Every community of one level is part of one of the next; the last level has the final communities.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2, 3, 4], "dst": [1, 2, 0, 3, 4, 5]}, directed=False)
        >>> dg.louvain(G).levels[-1].compute()["community"].tolist()
        [0, 0, 0, 3, 3, 3]
        """
        return [_only(self.every_level, name).frame for name in self.every_level._empty.columns]


def _only(result: RunResult, name: str) -> Any:
    """The result with one of its columns, as `community`."""
    return result.map(partial(_pick, name))


def _pick(name: str, numbers: np.ndarray, columns: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The communities of a level. Of Louvain, they are cut along the final ones, between which vertices have moved."""
    found = columns[COMMUNITY]
    if name != COMMUNITY:
        pairs = columns[name].astype(np.int64) * (len(found) or 1) + found
        found = smallest_of(np.unique(pairs, return_inverse=True)[1])
    return numbers, {COMMUNITY: found.astype(np.int64)}


@dataclass(frozen=True)
class Detection:
    """A search for communities. Called, it is done by one worker with all edges: those of the only partition, or with
    `deterministic`, of all."""

    operation: str
    vertices: int
    directed: bool
    weight: str | None
    objective: str
    resolution: float
    max_levels: int
    tol: float
    random_seed: int
    deterministic: bool

    @explain_lack_of_memory(*LACK)
    def __call__(
        self,
        pieces: Sequence[Partition],
        threads: int,
        previous: PreviousDivision | None,
        journal: Journal,
    ) -> WorkerResult:
        search = CommunitySearch(self.max_levels, self.tol, np.random.default_rng(self.random_seed))
        return self.run(search, self.level(pieces, threads), previous, journal)

    def run(
        self, search: CommunitySearch, level: Any, previous: PreviousDivision | None, journal: Journal
    ) -> WorkerResult:
        """The communities that a search finds in a level, which stands for the graph."""
        journal.open(search, self.vertices)
        begun = None if previous is None else previous.begun
        levels, found = search.search(level, begun, refines=self.operation == LEIDEN)
        columns = {f"level {number}": labels for number, labels in enumerate(levels, 1)}
        final = found.divisions[-1]
        columns[COMMUNITY] = smallest_of(final) if previous is None else previous.names(final)[final]
        rows = [
            single_call_row(row.pop("vertices"), row.pop("edges"), row.pop("busy"), superstep=number, **row)
            for number, row in enumerate(search.rows, search.resumed_after + 1)
        ]
        values, totals = VertexValues(np.arange(self.vertices), columns), {self.objective: self.quality(found, level)}
        return WorkerResult({0: values}, set(), rows, search.levels_done, totals)

    def level(self, pieces: Sequence[Partition], threads: int) -> Level:
        """The whole graph, from all partitions."""
        tables: list[Any] = [pieces[0].out, pieces[0].incoming][: 1 + self.directed]
        if len(pieces) > 1:
            tables = [_joined(pieces, self.weight, self.vertices, threads)]
            tables += [tables[0].transposed(threads)] if self.directed else []
        if self.deterministic and self.weight is not None:  # so that sums of weights do not depend on the partitions
            tables = [_in_order(one, self.weight, threads) for one in tables]
        ties = [_ties(one, self.weight) for one in tables]
        loops = 1.0 if self.directed else 2.0  # both tables of a directed graph list each loop
        null, weight = self.null_model([row_sums(one, loops, threads) for one in ties])
        cores = 1 if self.deterministic else threads
        return Level((ties[0], ties[1] if self.directed else Ties.none(ties[0])), loops, null, weight, cores)

    def null_model(self, sums: Sequence[np.ndarray]) -> tuple[NullModel, float]:
        """What chance expects, and the weight of all edges in both directions, given the weight of each vertex's edges;
        in a directed graph, of those that leave it and of those that enter it."""
        ways = 2 if self.directed else 1
        with np.errstate(over="ignore"):  # refused below
            weight = float(sums[0].sum()) * ways
        if not np.isfinite(weight):
            raise WeightError(f"column {self.weight!r}: the sum of the weights is beyond 1.8e308; scale them down")
        if self.objective == CPM:
            return NullModel(self.resolution * ways, np.ones(self.vertices), NONE), weight
        shares = [one / (weight / ways or 1.0) for one in sums]
        return NullModel(self.resolution * weight / ways, shares[0], shares[1] if self.directed else NONE), weight

    def quality(self, found: Hierarchy, level: Any) -> float:
        if self.objective == MODULARITY:
            return found.quality / level.weight if level.weight else 0.0
        pairs = 1.0 if self.directed else 0.5
        return found.quality / 2 + self.resolution * pairs * self.vertices


def _ties(table: Adjacency, weight: str | None) -> Ties:
    column = None if weight is None else table.columns[weight]
    return Ties.of(table.indptr, table.neighbours, level_weights(column, len(table.neighbours)))


def _in_order(table: Adjacency, weight: str, threads: int) -> Adjacency:
    """The same rows, each in ascending order of the neighbours and of their weights."""
    only = replace(table, columns={weight: table.columns[weight]})
    return only.in_order_of(np.arange(len(table.indptr) - 1), threads)


def _joined(pieces: Sequence[Partition], weight: str | None, vertices: int, threads: int) -> Adjacency:
    """The rows of all partitions, by vertex number."""
    slices = []
    for piece in pieces:
        rows, numbers = piece.by_source, np.asarray(piece.numbers, np.uint32)
        columns = {} if weight is None else {weight: rows.columns[weight]}
        slices.append(EdgeSlice(numbers[rows.rows()], numbers[rows.neighbours], columns))
    return build(slices, vertices, workers=threads)


def detection(
    graph: PartitionedGraph,
    operation: str,
    resolution: float,
    objective: str,
    weighted: bool,
    max_levels: int,
    tol: float,
    options: Mapping[str, Any],
) -> Detection:
    """The search that an operation's arguments ask for, once they are checked."""
    for option, only in (("engine", LOCAL), ("device", CPU)):
        if not any(is_default(options[option], one) for one in (AUTO, only)):
            raise OptionError(
                f"{format_option(option, options[option])}: {operation} runs only with {option}={only!r}; leave it out"
            )
    resolution = check_positive("resolution", resolution)
    check_choice("objective", objective, OBJECTIVES)
    check_integer("max_levels", max_levels)
    if not (is_number(tol) and 0 <= tol < 1):
        raise OptionError(f"{format_option('tol', tol)} must be a number >= 0 and < 1")
    seed = check_integer("random_seed", options["random_seed"], 0)
    if check_flag("weighted", weighted):
        check_weights(graph, operation, ("out",))
    weight = graph.weight if weighted else None
    how = resolution, max_levels, float(tol), seed, check_flag("deterministic", options["deterministic"])
    return Detection(operation, graph.num_vertices, graph.directed, weight, objective, *how)


def detect(
    graph: PartitionedGraph, job: Detection, previous: Any, checkpoint: CheckpointLike, progress: ProgressLike
) -> CommunityResult:
    """The communities that the search finds, from an earlier division if one is given."""
    options = RunOptions(checkpoint=checkpoint, progress=progress)
    earlier = None if previous is None else read_previous(graph, previous)
    find = partial(_detected, job=job, previous=earlier)
    again = partial(find, options=RunOptions(progress=False)) if job.deterministic else _found_once
    whole = recoverable_result(graph, partial(find, options=options), later=again)
    found = _only(whole, COMMUNITY)
    found.every_level = whole
    found.options = RunOptions(engine=LOCAL, device=CPU, random_seed=job.random_seed)
    return found


def _found_once(graph: PartitionedGraph) -> RunResult:
    """Instead of values that were lost with a worker: another search would find other communities."""
    raise RunError(
        "the communities were lost with a worker, and a second search may find different ones: run again, or pass "
        "deterministic=True, so that a second search finds the same"
    )


def _detected(
    graph: PartitionedGraph, job: Detection, previous: PreviousDivision | None, options: RunOptions
) -> RunResult:
    with closing(Progress.of(options.progress, job.operation)) as shown, hearing_of_silence(shown.silent):
        shown.prepare("building partitions")
        told = shown.building if shown.active else None
        columns = () if job.weight is None else (job.weight,)
        both = job.directed and graph.num_parts == 1
        with graph.input_edges.stopwatch.told_to(told):
            held = graph.partitioned(("out", "incoming") if both else ("out",), columns).held
        journal = Journal(shown, _checkpoints(graph, job, held, previous, options.checkpoint))
        shown.prepare("the first level, which compiles kernels that are new")
        results, summaries = _found(graph, job, held, previous, journal)
        if journal.checkpoints is not None:
            journal.checkpoints.folder.forget()
        names = list(summaries[0].parts[0].columns)
        result = CommunityResult(graph, results, names, {"engine": LOCAL, "device": CPU}, summaries=summaries)
        shown.end(result.rounds)
    return result


def _found(
    graph: PartitionedGraph,
    job: Detection,
    held: Sequence[Any],
    previous: PreviousDivision | None,
    journal: Journal,
) -> tuple[Sequence[Any], list[WorkerResult]]:
    """The result as one item, held where it was found, and without its values."""
    workers = graph.workers
    if graph.num_parts > 1 and not job.deterministic:  # all workers search, each with the edges of some vertices
        with explain_lack_of_memory(*LACK):
            search = SpreadSearch.on(workers, job.max_levels, job.tol, job.random_seed)
            level = search.first_level(held, job.weight, job.directed, graph.placement.bounds, job.null_model)
            found = job.run(search, level, previous, journal)
        return workers.send([found]), [found.without_values()]
    if workers.client is None:
        found = call_interruptibly(partial(job, held, workers.threads, previous, journal))
        return [found], [found]
    (sent,) = workers.send([previous])
    if journal.shown is not None:
        journal.shown.prepare("one worker searches; its levels are not shown")
    unseen = replace(journal, shown=None)
    results = workers.wait(workers.each(job, [(held, workers.threads, sent, unseen)]))
    return results, workers.bring(workers.each(WorkerResult.without_values, [(one,) for one in results]))


# -- after each level of a search: progress is shown, and a checkpoint is written --------------------------------------


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


def _checkpoints(
    graph: PartitionedGraph,
    job: Detection,
    held: Sequence[Any],
    previous: PreviousDivision | None,
    option: Checkpoint | None,
) -> SearchCheckpoints | None:
    """The checkpoints under the option's path. Without a path, nothing is kept: after the loss of a worker, the search
    begins again."""
    if option is None or option.path is None:
        return None
    begun = {} if previous is None else {"previous": as_text(previous.begun), "names": as_text(previous.labels)}
    identity = {
        "kernels": SearchCheckpoints.kernels(),
        **graph_identity(graph, held, [] if job.weight is None else [job.weight]),
        **{one.name: str(getattr(job, one.name)) for one in fields(job)},
        **begun,
    }
    return SearchCheckpoints(checkpoints_in(graph, option, job.operation, identity))


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
