"""Options that belong to one engine or one device, grouped into values so that options of different engines cannot be
mixed.

Each value checks its fields when it is created. `run_options.py` checks them together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dgraph.agents.daemon_settings import check_block, check_cache, kinds_of
from dgraph.arguments import AUTO, check_choice, check_flag, check_integer, is_default, known_fields
from dgraph.codegen.descent.descent_kernel import OPERATORS
from dgraph.engines.descent.block_options import MODES, ORDERS
from dgraph.errors import OptionError
from dgraph.phrases.phrases import format_option

DIRECTIONS = (AUTO, "push", "pull")
EXCHANGES = (AUTO, "workers", "graph")


class Value:
    """The base class of option values. Its repr is a call that shows only what differs from the defaults."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:  # type: ignore[attr-defined]
            if isinstance(value := getattr(self, name), np.generic):  # as Python's, which the repr shows without "np."
                object.__setattr__(self, name, value.item())
        self.check()

    def check(self) -> None:
        """Raise an OptionError for a field that has no valid value."""
        raise NotImplementedError

    def __repr__(self) -> str:
        fields = self.__dataclass_fields__  # type: ignore[attr-defined]
        shown = [
            repr(value) if one.kw_only is False else f"{name}={value!r}"
            for name, one in fields.items()
            if one.repr and not is_default(value := getattr(self, name), one.default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


@known_fields
@dataclass(frozen=True, kw_only=True, repr=False)
class BlockDescent(Value):
    """The asynchronous block coordinate descent engine: one block of vertices is updated at a time.

    ``engine="block_descent"`` is the same with every default.

    Parameters
    ----------
    block_size : int or "auto", default "auto"
        Vertices in a block, rounded up to a power of two.
    order : {"priority", "cyclic"}, optional
        Which block is next: the one with the most to gain, or each in turn. The default suits the program.
    mode : {"async", "barrier", "bsp"}, default "async"
        When workers wait for each other: never, after each block, or after all blocks. With several partitions,
        ``"barrier"`` waits after each epoch.
    operator : {"pull", "push", "pull_push"}, optional
        A block gathers from all in-edges, sends its changes along out-edges, or writes each change to a slot of the
        edge, which the receiver reads in order. The default suits the program.

    Examples
    --------
    >>> G = dg.rmat(scale=8, edge_factor=8, seed=1)
    >>> result = dg.sssp(G, 0, engine=dg.BlockDescent(block_size=64, order="priority"))
    >>> result.report.options["block size"]
    64
    """

    block_size: int | str | None = AUTO
    order: str | None = None
    mode: str | None = "async"
    operator: str | None = None

    def check(self) -> None:
        if not is_default(self.block_size, AUTO):
            check_integer("block_size", self.block_size, or_none=True)
        for name, choices in (("order", ORDERS), ("mode", MODES), ("operator", OPERATORS)):
            if not any(is_default(getattr(self, name), usual) for usual in (None, AUTO)):
                check_choice(name, getattr(self, name), choices)


@known_fields
@dataclass(frozen=True, kw_only=True, repr=False)
class BulkAsync(Value):
    """The bulk-asynchronous engine: each partition runs at its own pace and never waits for the others.

    ``engine="bulk_async"`` is the same with every default.

    Parameters
    ----------
    local_rounds : int, optional
        Steps that a partition takes before it sends to the others. By default one; for messages that merge like
        minima, as many as change something.

    Examples
    --------
    >>> G = dg.rmat(scale=8, edge_factor=8, seed=1, parts=2)
    >>> result = dg.wcc(G, engine=dg.BulkAsync(local_rounds=4))
    """

    local_rounds: int | None = None

    def check(self) -> None:
        check_integer("local_rounds", self.local_rounds, or_none=True)


@known_fields
@dataclass(frozen=True, repr=False)
class Daemons(Value):
    """What computes on each worker, in blocks of edges that stream through a pipeline.

    ``daemons="own process"`` is the same with every default. A daemon outlives the run and serves the next one.

    Parameters
    ----------
    kinds : str, list of str, or mapping of worker number to such a list
        ``"in process"`` (the worker itself), ``"own process"`` (isolated: restarted if it dies or hangs), ``"cuda"``
        or ``"cuda own process"`` (experimental: a GPU beside a CPU worker). Several kinds take blocks from one queue.
    block : int, "auto" or None, default "auto"
        Edges in a block. ``"auto"`` follows the measured costs; with None all edges are one block, without a pipeline.
    cache : int or "auto", default "auto"
        Bytes of vertices that a daemon keeps between blocks and rounds; 0 for none.

    Examples
    --------
    >>> G = dg.rmat(scale=8, edge_factor=8, seed=1)
    >>> result = dg.run(G, Degree(), daemons=dg.Daemons("own process", block=4096))  # doctest: +SKIP
    """

    kinds: Any
    block: int | str | None = field(default=AUTO, kw_only=True)
    cache: int | str = field(default=AUTO, kw_only=True)

    def check(self) -> None:
        check_block("block", self.block)
        check_cache("cache", self.cache)
        if not kinds_of(self.kinds):
            for name in ("block", "cache"):
                if not is_default(value := getattr(self, name), AUTO):
                    raise OptionError(
                        f"{format_option(name, value)} needs daemons that take blocks, which daemons={self.kinds!r} "
                        f'does not: choose Daemons("own process", {name}={value!r}) or '
                        f'Daemons(["in process"], {name}={value!r})'
                    )


@known_fields
@dataclass(frozen=True, kw_only=True, repr=False)
class Gpu(Value):
    """An NVIDIA GPU of each worker (experimental). ``device="cuda"`` is the same with every default.

    Parameters
    ----------
    memory_budget : int, optional
        Bytes of the GPU that a worker may use; all of them by default. Edges that do not fit pass through the GPU in
        blocks in each round, and partitions that fit stay there.

    Examples
    --------
    >>> dg.Gpu(memory_budget=8 << 30)
    Gpu(memory_budget=8589934592)
    """

    memory_budget: int | None = None

    def check(self) -> None:
        check_integer("memory_budget", self.memory_budget, or_none=True)


@known_fields
@dataclass(frozen=True, kw_only=True, repr=False)
class Optimisations(Value):
    """How rounds are run. The answer is the same for every choice; use this to measure, or to find faults.

    Parameters
    ----------
    direction : {"auto", "push", "pull"}, default "auto"
        Vertices push messages along their out-edges, or pull them from all in-edges. ``"auto"`` chooses the faster in
        each round.
    active_only : bool, default True
        Only vertices with a message fire.
    drop_weights : bool, default True
        Edge columns that the program never reads are neither stored nor sent.
    changed_only : bool, default True
        Only changed values travel between partitions.
    skip_exchange : bool, default True
        Rounds that change no other partition follow one another without an exchange.
    lazy_upload : bool, default True
        A change travels only to partitions that read it in the next round.
    exchange : {"auto", "workers", "graph"}, default "auto"
        How values travel on a cluster: ``"workers"``, from worker to worker, which needs Dask plugins; ``"graph"``, as
        edges of the task graph, which is slower. ``"auto"`` chooses the first if the cluster allows it.

    Examples
    --------
    >>> dg.Optimisations(direction="pull", lazy_upload=False)
    Optimisations(direction='pull', lazy_upload=False)
    """

    direction: str = AUTO
    active_only: bool = True
    drop_weights: bool = True
    changed_only: bool = True
    skip_exchange: bool = True
    lazy_upload: bool = True
    exchange: str = AUTO

    def check(self) -> None:
        check_choice("direction", self.direction, DIRECTIONS)
        check_choice("exchange", self.exchange, EXCHANGES)
        for name in ("active_only", "drop_weights", "changed_only", "skip_exchange", "lazy_upload"):
            check_flag(name, getattr(self, name))


USUAL = Optimisations()
