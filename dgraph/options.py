"""The options of a run as values: frozen, checked when they are made, and equal to their copies.

Options of one engine or one device are fields of a small value, so that options of different engines cannot be mixed.
`runs/run_options.py` holds all options of a call, and checks them against each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, Protocol

import numpy as np

from dgraph.arguments import (
    AUTO,
    assign,
    check_bytes,
    check_choice,
    check_flag,
    check_integer,
    check_integer_or_auto,
    is_number,
    shown,
    value,
)
from dgraph.errors import OptionError

DIRECTIONS = (AUTO, "push", "pull")
ORDERS = (AUTO, "priority", "cyclic")
MODES = ("async", "barrier", "bsp")
OPERATORS = (AUTO, "push", "pull", "pull_push")
SWITCHES = ("active_only", "changed_only", "skip_exchange", "lazy_upload", "drop_weights", "direct_exchange")
IN_PROCESS, OWN_PROCESS = "in process", "own process"
KINDS = (IN_PROCESS, OWN_PROCESS, "cuda", "cuda own process")
DEFAULT_CACHE = 64 << 20  # bytes of vertices that a daemon keeps for each partition
DEFAULT_INTERVAL = 10  # supersteps between two checkpoints


# -- engines -----------------------------------------------------------------------------------------------------------


@value
class Optimizations:
    """Switches that never change an answer. They exist to measure what each one saves, and to find faults.

    Parameters
    ----------
    active_only : bool, default True
        Only vertices with a message fire.
    changed_only : bool, default True
        Only changed values travel between partitions.
    skip_exchange : bool, default True
        Rounds that change no other partition follow one another without an exchange.
    lazy_upload : bool, default True
        A change travels only to partitions that read it in the next round.
    drop_weights : bool, default True
        Edge columns that the program never reads are neither stored nor sent.
    direct_exchange : bool, default True
        Messages travel from worker to worker; with False, as edges of Dask's task graph, which is slower.

    Examples
    --------
    >>> dg.Optimizations(lazy_upload=False)
    dg.Optimizations(lazy_upload=False)
    """

    active_only: bool = True
    changed_only: bool = True
    skip_exchange: bool = True
    lazy_upload: bool = True
    drop_weights: bool = True
    direct_exchange: bool = True

    def __post_init__(self) -> None:
        for name in SWITCHES:
            assign(self, name, check_flag(name, getattr(self, name)))


USUAL = Optimizations()


@dataclass(frozen=True, kw_only=True, repr=False)
class CommonRounds:
    """The fields that `Gas` and `Bsp` share. All partitions advance together, round by round."""

    max_rounds: int | None = None
    local_rounds: Literal[1] | None = None
    direction: Literal["auto", "push", "pull"] = "auto"
    deterministic: bool = False
    rebalance: bool = False
    optimizations: Optimizations = USUAL

    def __post_init__(self) -> None:
        assign(self, "max_rounds", check_integer("max_rounds", self.max_rounds, or_none=True))
        if self.local_rounds is not None and check_integer("local_rounds", self.local_rounds) > 1:
            raise OptionError(
                f"{shown('local_rounds', self.local_rounds)} is not available in dg.{type(self).__name__}, "
                "where partitions wait for each other in each round; dg.BulkAsync has it"
            )
        assign(self, "local_rounds", check_integer("local_rounds", self.local_rounds, or_none=True))
        check_choice("direction", self.direction, DIRECTIONS)
        for name in ("deterministic", "rebalance"):
            assign(self, name, check_flag(name, getattr(self, name)))
        _check_optimizations(self.optimizations)
        if self.deterministic and self.direction == "push":
            raise OptionError(
                "deterministic=True and direction='push' are mutually exclusive: a deterministic run gathers "
                "messages in a fixed order. Leave one out"
            )


@value
class Gas(CommonRounds):
    """Gather, apply, scatter: all partitions advance together, and wait for each other once per round.

    ``engine="gas"`` is equivalent to ``dg.Gas()``.

    Parameters
    ----------
    max_rounds : int, optional
        Stop after this many rounds.
    local_rounds : 1, optional
        With 1, every round is a single step, and the operation's own algorithm for a partition is not used.
    direction : {"auto", "push", "pull"}, default "auto"
        Push messages along the edges of active vertices, or pull them along all edges. ``"auto"`` chooses the faster in
        each round.
    deterministic : bool, default False
        Make sums of floats the same to the last bit for any number of partitions, workers and threads. This builds
        partitions in which every vertex has all its edges, in one order.
    rebalance : bool, default False
        Move edges between rounds if the measured imbalance of the workers costs more than the move.
    optimizations : Optimizations, optional
        Switches that do not change the answer.

    Raises
    ------
    OptionError
        If a value is not allowed, or ``deterministic=True`` is combined with ``direction="push"``.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 3]})
    >>> dg.bfs(G, 0, engine=dg.Gas(direction="pull")).report.options["direction"]
    'pull'
    """


@value
class Bsp(CommonRounds):
    """Bulk-synchronous: a round is send, merge, apply; the next begins when all partitions agree that it is over.

    ``engine="bsp"`` is equivalent to ``dg.Bsp()``.

    Parameters
    ----------
    max_rounds : int, optional
        Stop after this many rounds.
    local_rounds : 1, optional
        With 1, every round is a single step, and the operation's own algorithm for a partition is not used.
    direction : {"auto", "push", "pull"}, default "auto"
        Push messages along the edges of active vertices, or pull them along all edges. ``"auto"`` chooses the faster in
        each round.
    deterministic : bool, default False
        Make sums of floats the same to the last bit for any number of partitions, workers and threads. This builds
        partitions in which every vertex has all its edges, in one order.
    rebalance : bool, default False
        Move edges between rounds if the measured imbalance of the workers costs more than the move.
    optimizations : Optimizations, optional
        Switches that do not change the answer.

    Raises
    ------
    OptionError
        If a value is not allowed, or ``deterministic=True`` is combined with ``direction="push"``.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 3]}, parts=2)
    >>> dg.pagerank(G, tol=0, max_iter=20, engine=dg.Bsp(deterministic=True)).rounds
    20
    """


@value
class BulkAsync:
    """The bulk-asynchronous engine: each partition runs at its own pace and never waits for the others.

    ``engine="bulk_async"`` is equivalent to ``dg.BulkAsync()``.

    Parameters
    ----------
    local_rounds : int, optional
        Steps that a partition takes before it sends its changes. The default is one step or, for idempotent merges such
        as minima, as many as it takes until nothing changes.
    direction : {"auto", "push", "pull"}, default "auto"
        As in `Gas`.
    optimizations : Optimizations, optional
        Switches that do not change the answer. Only `lazy_upload`, `drop_weights` and `direct_exchange` may be False.

    Raises
    ------
    OptionError
        If a value is not allowed, or an optimization is off that must be on.

    Examples
    --------
    >>> G = dg.rmat(scale=8, edge_factor=8, seed=1, parts=2)
    >>> result = dg.wcc(G, engine=dg.BulkAsync(local_rounds=4))
    """

    local_rounds: int | None = None
    direction: Literal["auto", "push", "pull"] = "auto"
    optimizations: Optimizations = USUAL

    def __post_init__(self) -> None:
        assign(self, "local_rounds", check_integer("local_rounds", self.local_rounds, or_none=True))
        check_choice("direction", self.direction, DIRECTIONS)
        _check_optimizations(self.optimizations)
        for name in ("active_only", "changed_only", "skip_exchange"):
            if not getattr(self.optimizations, name):
                raise OptionError(
                    f"{name}=False is not available in dg.BulkAsync, which does not run in rounds; dg.Gas and dg.Bsp do"
                )


@value
class BlockDescent:
    """The asynchronous block coordinate descent engine: each thread updates one block of vertices at a time.

    ``engine="block_descent"`` is equivalent to ``dg.BlockDescent()``.

    Parameters
    ----------
    block_size : int or "auto", default "auto"
        Vertices in a block, rounded up to a power of two.
    order : {"auto", "priority", "cyclic"}, default "auto"
        Which block comes next: the one with the most to gain, or each in turn.
    mode : {"async", "barrier", "bsp"}, default "async"
        ``"async"``: threads wait only for one that is far behind. ``"barrier"``: threads wait for each other after each
        block. ``"bsp"``: all vertices are one block, and the other fields do not matter. Partitions wait for each other
        after each epoch, except with ``"async"`` if an accumulative program pushes: then they never wait.
    operator : {"auto", "push", "pull", "pull_push"}, default "auto"
        How a block exchanges values. ``"push"`` sends its changes along out-edges; ``"pull"`` gathers from all
        in-edges; ``"pull_push"`` writes each change to a slot on the edge, and the receiver reads the slots in order.
        ``"auto"`` chooses what suits the program.

    Examples
    --------
    >>> G = dg.rmat(scale=8, edge_factor=8, seed=1)
    >>> result = dg.sssp(G, 0, engine=dg.BlockDescent(block_size=64, order="priority"))
    >>> result.report.options["block size"]
    64
    """

    block_size: int | Literal["auto"] = "auto"
    order: Literal["auto", "priority", "cyclic"] = "auto"
    mode: Literal["async", "barrier", "bsp"] = "async"
    operator: Literal["auto", "push", "pull", "pull_push"] = "auto"

    def __post_init__(self) -> None:
        assign(self, "block_size", check_integer_or_auto("block_size", self.block_size))
        for name, choices in (("order", ORDERS), ("mode", MODES), ("operator", OPERATORS)):
            check_choice(name, getattr(self, name), choices)


# -- devices and daemons -----------------------------------------------------------------------------------------------


@value
class Cuda:
    """An NVIDIA GPU of each worker (experimental). ``device="cuda"`` is equivalent to ``dg.Cuda()``.

    Parameters
    ----------
    memory : int or str, optional
        Bytes of GPU memory that each worker may use, such as ``"8 GiB"``; by default, 90 % of it. Edges that do not fit
        are streamed through the GPU in blocks in each round; partitions that fit stay there.
    block : int, "auto" or None, default "auto"
        Number of edges in a streamed block; with None, all edges are one block.

    Examples
    --------
    >>> dg.Cuda(memory="8 GiB")
    dg.Cuda(memory=8589934592)
    """

    memory: int | str | None = None
    block: int | Literal["auto"] | None = "auto"

    def __post_init__(self) -> None:
        assign(self, "memory", None if self.memory is None else check_bytes("memory", self.memory, 1))
        assign(self, "block", check_integer_or_auto("block", self.block, or_none=True))


class DaemonKind(Protocol):
    """A kind of daemon: a small value that is sent to workers and starts a daemon there. Equal kinds share one."""

    @property
    def device(self) -> str:
        """The device whose kernels the daemon runs: "cpu" or "cuda"."""

    def start(self, threads: int) -> Any:
        """Start a daemon on a worker."""


@value
class Daemons:
    """Devices or separate processes that take blocks of edges from one queue.

    ``daemons="own process"`` is short for ``daemons=dg.Daemons("own process")``. A daemon outlives the run and serves
    the next one.

    Parameters
    ----------
    kinds : str, a kind, a list of these, or a mapping of worker number to these
        ``"in process"`` (the CPU of the worker), ``"own process"`` (the CPU in a separate process, restarted if it dies
        or hangs), ``"cuda"`` or ``"cuda own process"`` (experimental: a GPU in addition to a CPU worker). Several kinds
        share one queue of blocks on each worker. In a mapping, workers are numbered from 0 in the order of their first
        partitions; workers that it leaves out have no daemons.
    block : int, "auto" or None, default "auto"
        Edges in a block. ``"auto"`` adapts to measured costs; with None, all edges are one block, without a pipeline.
    cache : int or str, default 64 MiB
        Bytes of vertex values that a daemon keeps between blocks and rounds; 0 for none.

    Raises
    ------
    OptionError
        If a kind is not known, a key is not the number of a worker, or a value is not allowed.

    Examples
    --------
    >>> G = dg.rmat(scale=8, edge_factor=8, seed=1, parts=2)
    >>> result = dg.wcc(G, daemons=dg.Daemons("in process", block=4096))
    >>> dg.Daemons({0: ["in process", "cuda"], 1: "in process"}, cache=0)
    dg.Daemons({0: ('in process', 'cuda'), 1: 'in process'}, cache=0)
    """

    kinds: Any = field(kw_only=False)
    block: int | Literal["auto"] | None = "auto"
    cache: int | str = DEFAULT_CACHE

    def __post_init__(self) -> None:
        given = self.kinds
        if isinstance(given, Mapping):
            for worker in given:
                if not isinstance(worker, int | np.integer) or isinstance(worker, bool) or worker < 0:
                    problem = f"daemons= has the key {worker!r}, which is not a worker"
                    raise OptionError(f"{problem}; workers are numbered from 0 up")
            assign(self, "kinds", {int(worker): _one_or_several(one) for worker, one in given.items()})
        else:
            assign(self, "kinds", _one_or_several(given))
        assign(self, "block", check_integer_or_auto("block", self.block, or_none=True))
        assign(self, "cache", check_bytes("cache", self.cache, 0))


def _one_or_several(given: Any) -> Any:
    """One kind of daemon, or a tuple of several."""
    several = isinstance(given, Sequence) and not isinstance(given, str)
    kinds = tuple(given) if several else (given,)
    if not kinds or not all(kind in KINDS if isinstance(kind, str) else _is_kind(kind) for kind in kinds):
        raise OptionError(
            f"{shown('daemons', given)} is not known; choose one of {', '.join(map(repr, KINDS))}, or a list "
            "of them, which share one queue of blocks"
        )
    return kinds if several else given


def _is_kind(kind: Any) -> bool:
    """Whether something is a `DaemonKind`."""
    return not isinstance(kind, type) and isinstance(getattr(kind, "device", None), str) and hasattr(kind, "start")


# -- checkpoints -------------------------------------------------------------------------------------------------------


@value
class Checkpoint:
    """Where to store the checkpoints of a run, and how often. A plain path means every 10 supersteps.

    If a run is interrupted, the same call resumes from its last checkpoint. When a run ends, including
    when it reaches ``max_rounds`` or ``max_iter``, its checkpoints are removed.

    Parameters
    ----------
    path : path or URL, optional
        A folder or an fsspec URL that all workers can reach. None keeps each piece in the memory of two workers: a run
        survives the loss of a worker, but not of the cluster or the client.
    every : int, optional
        Supersteps between two checkpoints, by default 10; with None, only `seconds` counts.
    seconds : float, optional
        The longest time between two checkpoints.

    Raises
    ------
    OptionError
        If a value is not allowed, or `every` and `seconds` are both None.

    Examples
    --------
    >>> dg.Checkpoint("s3://bucket/run", every=20)
    dg.Checkpoint('s3://bucket/run', every=20)
    """

    path: Any = field(default=None, kw_only=False)
    every: int | None = DEFAULT_INTERVAL
    seconds: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.path, os.PathLike):
            assign(self, "path", os.fspath(self.path))
        if self.path is not None and not (isinstance(self.path, str) and self.path):
            raise OptionError(
                f"checkpoint={self.path!r} is not a path: pass a folder or a URL, or dgraph.Checkpoint() to keep it in "
                "memory"
            )
        assign(self, "every", check_integer("every", self.every, or_none=True))
        if self.seconds is not None and not (is_number(self.seconds) and 0 < self.seconds < inf):
            raise OptionError(f"seconds={self.seconds!r} must be a number above zero, or None")
        if self.every is None and self.seconds is None:
            raise OptionError("every=None and seconds=None: set one of them, or no checkpoint would be written")


def _check_optimizations(given: Any) -> None:
    if not isinstance(given, Optimizations):
        raise OptionError(
            f"{shown('optimizations', given)} must be a dg.Optimizations, such as dg.Optimizations(lazy_upload=False)"
        )
