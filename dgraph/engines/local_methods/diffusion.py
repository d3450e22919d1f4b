"""Sums that spread through a graph in several partitions, as in PageRank by residuals.

Each partition gathers over all its edges repeatedly, each block from the newest values of the blocks before it
(Gauss-Seidel order). While most of what vertices receive is worth passing on, this takes a third of the time of adding
messages to inboxes.

The value of a row is everything that it has ever received, so it may gather at any time and any number of times, and
what other partitions send is added whenever it arrives. The change made by a sweep over all edges shows how far the run
is from the fixed point. A proxy is a row that keeps nothing: the change of its value is sent to its master.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import uint64

from dgraph.engines.local_methods.local_rounds import FreeLocalRounds
from dgraph.exchange.proxy_post import REDUCE
from dgraph.native.team import atomic_add, kernel, summed, team
from dgraph.programs.kernel_names import by_name, inbox_name
from dgraph.solvers.ranks.gather import Layout, gather, lay_out
from dgraph.solvers.ranks.pagerank import dividing
from dgraph.solvers.solver import LocalMethod
from dgraph.tables.edge_tables import EdgeTables, cached_on
from dgraph.vertex_state.local_state import LocalState

HELD_BACK_SHARE = 0.7  # what all vertices hold back in total, as a share of the sum of their limits
ASSUMED_MASS = 0.3  # a guess at the sum of all values until it is known; the sum is rarely smaller
NOISE = 1e-13  # the relative change that rounding may cause in every sweep, forever


class FreeDiffusionRounds(FreeLocalRounds):
    """Bulk-asynchronous rounds of a `DiffuseState`, with one sweep over all edges per round. A sweep waits until all
    other partitions have sent something since the last one, or have been silent for a while."""

    patience = 2.0

    def goes_on(self, state: Any) -> bool:
        return self.can_sweep(state) or (state.has_proxy_news and not self.mail.busy)

    def can_sweep(self, state: Any) -> bool:
        return state.needs_sweep and self.pays(state)

    def advance(self, state: Any) -> int:
        sweeps = self.can_sweep(state)
        if sweeps:
            self.settle(state)
        if not self.mail.busy:
            state.tell(self.senders, self.targets)
        return int(sweeps)

    def close(self) -> None:
        for state in self.states:
            state.conclude()
        super().close()

    def begin_next_stage(self) -> bool:
        begun = [state.next_stage(self.rounds.globals.values) for state in self.states]  # `any` alone would skip some
        return any(begun)


class DiffuseState(LocalState):
    """The state of one partition. Settling means one sweep over all edges."""

    free_rounds = FreeDiffusionRounds

    def __init__(self, diffuse: DiffusionMethod, *arguments: Any):
        super().__init__(*arguments)
        self.diffuse, self.pulled = diffuse, True
        self.has_proxy_news = False  # whether proxies may have changes to send to their masters
        self.heard: set[int] = set()  # the partitions that have sent something since the last sweep

    def begin(self) -> None:
        super().begin()
        (phase,) = self.analysis.phases
        self.fields = by_name(self.values)
        self.inbox = self.values[inbox_name(phase, phase.messages[0])]
        received = np.add(self.fields["held"][: self.n], self.inbox[: self.n], dtype=np.float64)
        self.told_by = {q for q in self.post.peers if len(self.post.masters("any", q))}  # all that ever send here
        self.stages = int(self.fields["stages"])  # how many stages are left, including this one
        self.opening = self.stages > 1
        factor, strength = float(self.fields["alpha"]), self.fields.get("strength")
        # the first guess needs no sweep: every vertex has the same multiple of what it receives from outside
        times = 1 / (1 - factor) if self.opening else 0.0
        self.diffusion = Diffusion(self.edges, factor, strength, received, times)
        self.limit = np.inf if self.opening else self._limit(0.0)  # how much this stage may leave here
        self.inbox[:] = 0

    def settle(self) -> None:
        """Sweep over all edges. If little is left to pass on, sweep once more without passing anything on, to compute
        exactly how much is left and what proxies have gathered."""
        sweeps, self.heard = 0, set()
        if not self.opening:
            self.diffusion.sweep()
            sweeps += 1
        self.opening = False
        if not self.needs_sweep:
            self.diffusion.measure()
            sweeps += 1
        self.total["fired"] += self.n
        self.total["edges"] += sweeps * len(self.diffusion.edges.senders)
        self.has_proxy_news = self.size > self.n

    def tell(self, side: str, target_side: str) -> None:
        """Send masters the changes of their proxies."""
        proxies = self.inbox[self.n :]
        proxies[:] = self.diffusion.news()
        self.diffusion.told += proxies
        self.post.reduce(target_side, [self.inbox], [0])
        proxies[:] = 0
        self.has_proxy_news = False

    def hear(self, side: str, target_side: str) -> None:
        self.heard |= {sender for sender, _ in self.post.free_buffers or ()}
        for _, ids, (values,) in self.post.collect({REDUCE: target_side}):
            self.diffusion.receive(ids, values)

    @property
    def needs_sweep(self) -> bool:
        """Whether more is left to pass on than the end of this stage allows."""
        return self.opening or self.diffusion.left + self.diffusion.came > max(self.limit, self.diffusion.noise)

    @property
    def pays(self) -> bool:
        """Whether all partitions have sent something since the last sweep. Sweeping sooner would mostly be wasted,
        because it would have to be repeated."""
        return self.heard >= self.told_by

    @property
    def waiting(self) -> int:
        return int(self.needs_sweep or self.has_proxy_news)

    def conclude(self) -> None:
        """Write the states at the end of the last stage."""
        if self.stages == 1:
            self.diffusion.results(self.fields["rank"][: self.n], self.fields["held"][: self.n])

    def fold(self, kernel: str = "fold") -> list[tuple]:
        """At the end of every stage but the last, return the sums that the next stage starts from."""
        if kernel != "conclude" or self.stages == 1:
            return super().fold(kernel)
        result = self.diffusion
        known = {"surplus": result.surplus, "mass": result.mass, "given": result.supply}
        each_round = self.analysis.globals_each_round
        return [tuple(known.get(name, 0.0) for name in self.analysis.globals if name not in each_round)]

    def next_stage(self, totals: Mapping[str, Any]) -> bool:
        """Begin the next stage, if there is one, and return whether there is. It starts from a multiple of what was
        passed on, chosen such that the residuals sum to zero, because residuals of one sign fade slowest."""
        self.stages -= 1
        if self.stages:
            given, surplus = totals["given"], totals["surplus"]
            times = given / max(given - surplus, given / self.diffuse.most) if given else 1.0
            self.diffusion.scale(times)
            self.limit = self._limit(times * totals["mass"])
        return self.stages > 0

    def _limit(self, mass: float) -> float:
        """How much may be left at the end of this stage. `mass` is the sum of all values of all vertices, or 0 before
        the first stage has computed it; the less mass, the less may be left."""
        least = self.fields["least"] * self.fields["falls"] ** (self.stages - 1)
        return HELD_BACK_SHARE * min(mass or ASSUMED_MASS, 1.0) * least * len(self.diffusion.edges.senders)


@dataclass(frozen=True)
class DiffusionMethod(LocalMethod):
    """The method for programs in which a vertex passes on, along its out-edges, a fixed fraction of everything that it
    receives. Such a program has these parts:

    alpha     parameter: the fraction that is passed on
    rank      state: the sum of everything that a vertex has passed on
    held      state: what it has received but not passed on, its residual
    strength  column: the sum of the weights by which a vertex divides, if edges are weighted
    least     parameter: how much may be held back for each edge in the last stage
    falls     parameter: how many times as much may be held back in the stage before
    stages    parameter: the number of stages
    given     global value over vertices with out-edges: the sum of what they receive from outside
    surplus   global value over the same vertices: the sum of their residuals
    mass      global value over all vertices: the sum of everything that they have received
    """

    most: float  # a stage starts from at most this multiple of what was passed on
    state: ClassVar[type] = DiffuseState

    def memory(self, edge_columns: int) -> tuple[int, int]:
        return 72, 4 + 8 * edge_columns  # nine numbers for each vertex, and a copy of the edges in a separate layout


class DiffusionArrays(NamedTuple):
    """Arrays of values, indexed by place."""

    share: np.ndarray  # the share of what a row passes on that goes along each edge; 0 without out-edges
    first: np.ndarray  # what the row received at the start
    given: np.ndarray  # `first`, plus what other partitions have sent since
    known: np.ndarray  # everything that the row had received by the last sweep
    sent: np.ndarray
    gathered: np.ndarray  # what the row gathered in the last `measure`


class Diffusion:
    """The values of one partition, and kernels that change them. Arrays are indexed by place (see `gather.py`).

    Over rows with out-edges, `left` is an upper bound of the absolute sum of residuals at the last sweep, and `came`
    the absolute sum of what has arrived since. As of the last `measure`, `surplus` is the sum of the residuals of the
    same rows, and `mass` the sum of all values."""

    def __init__(
        self, edges: EdgeTables, factor: float, strength: np.ndarray | None, given: np.ndarray, times: float = 0.0
    ):
        """`given` is what owned vertices receive at the start. They pass on the fraction `factor` of everything,
        divided equally, or by weight if `strength` has the sums of weights. The start assumes that they have already
        passed on `times` what they receive; sweeps correct this."""
        (table,) = edges.receivers("out", joined=True)
        column = edges.columns.get("weight")
        make = partial(_laid_out, edges, table)
        self.layout, self.places = cached_on(table, ("layout of rows", column), make)
        columns = {} if strength is None else {"strength": strength}
        layout, divisor = dividing(self.layout, columns, np.float64)
        n, self.threads, self.owned, self.factor = len(layout.rows), edges.threads, len(given), factor
        self.edges, self.arrays = layout.edges, DiffusionArrays(*(np.empty(n) for _ in range(6)))
        self.told = np.zeros(n - self.owned)  # for each proxy, the value that its master knows
        self.rows = np.empty((self.threads, int(np.diff(layout.edges.cuts).max(initial=0))))
        self.sums = np.zeros((len(layout.edges.cuts) - 1, 3))
        self.supply, absolute = map(float, _begin(layout.rows, given, float(times), factor, divisor, self.arrays))
        self.noise, self.left, self.came, self.surplus, self.mass = 0.0, 0.0, absolute, 0.0, 0.0

    def receive(self, ids: np.ndarray, values: np.ndarray) -> None:
        """Add what other partitions have sent to owned vertices."""
        absolute, sendable, mass = _receive(ids, values, self.places, self.arrays)
        self.came, self.surplus, self.mass = self.came + absolute, self.surplus + sendable, self.mass + mass

    def sweep(self) -> None:
        """Pass over all edges once, so that every row passes on what it has received."""
        self.came = 0.0
        changed, size, _ = self._run(_sweep, self.rows)
        self.left, self.noise = self.factor * changed, NOISE * size  # some rows may not have seen the changes

    def measure(self) -> None:
        """Pass over all edges once, but pass nothing on: afterwards `left` is exact."""
        self.left, self.surplus, self.mass = self._run(_measure, self.layout.rows, self.owned)

    def news(self) -> np.ndarray:
        """The change of each proxy since its master was last updated, in the order of local ids."""
        return self.arrays.known[self.places[self.owned :]] - self.told

    def scale(self, times: float) -> None:
        """Start a stage from this multiple of what was passed on. All partitions call this with the same number."""
        self.told *= times
        self.left, self.came = float(_scale(float(times), self.arrays)), 0.0

    def results(self, passed: np.ndarray, held: np.ndarray) -> None:
        """Add what owned vertices have passed on to `passed`, and write their residuals to `held`. Call `measure`
        first."""
        _results(self.layout.rows, self.arrays, passed, held)

    def _run(self, kernel: Callable[..., Any], *more: Any) -> list[float]:
        """Run a kernel whose threads take turns at blocks of rows; returns the totals of its sums."""
        team(kernel, self.threads, np.zeros(1, np.int64), self.sums, self.edges, self.arrays, *more)
        return self.sums.sum(axis=0).tolist()


def _laid_out(edges: EdgeTables, table: Any) -> tuple[Layout, np.ndarray]:
    """The layout of all rows, and the place of each local id."""
    layout = lay_out(table, edges.column(table, "weight"), edges.threads)
    places = np.empty_like(layout.rows)
    places[layout.rows] = np.arange(len(places), dtype=np.uint32)
    return layout, places


@kernel
def _begin(rows, to_owned, times, factor, divisor, arrays):
    """Set the start values of all rows; proxies receive nothing. Returns two sums over rows with out-edges: of what
    they receive, and of its absolute value."""
    share, first, given, known, sent, gathered = arrays
    supply, absolute = 0.0, 0.0
    for i in range(uint64(rows.size)):
        value = to_owned[rows[i]] if rows[i] < to_owned.size else 0.0
        share[i] = factor / divisor[i] if divisor[i] > 0 else 0.0
        first[i] = given[i] = value
        known[i] = times * value
        sent[i] = known[i] * share[i]
        gathered[i] = 0.0
        if share[i] > 0:
            supply += value
            absolute += abs(value)
    return supply, absolute


@kernel
def _sweep(rank, size, signals, cursor, sums, edges, arrays, came):
    """Sweep over all blocks. The thread that takes a block writes it; meanwhile, other threads may read the old or the
    new values of `sent` for its rows."""
    while True:
        b = atomic_add(cursor, 0, 1)
        if b >= edges.cuts.size - 1:
            break
        lo, hi = edges.cuts[b], edges.cuts[b + 1]
        gather(edges, arrays.sent, lo, hi, came[rank])
        sums[b, 0], sums[b, 1] = _pass_on(lo, hi, came[rank], arrays.share, arrays.given, arrays.known, arrays.sent)


@summed
def _pass_on(lo, hi, came, share, given, known, sent):
    """Pass on what rows lo:hi have received. Returns two sums over rows with out-edges: of absolute changes, and of
    absolute values."""
    changed, size = 0.0, 0.0
    for i in range(uint64(lo), uint64(hi)):
        value, sends = given[i] + came[i - uint64(lo)], share[i] > 0
        changed += abs(value - known[i]) if sends else 0.0
        size += abs(value) if sends else 0.0
        known[i] = value
        sent[i] = value * share[i]
    return changed, size


@kernel
def _measure(rank, size, signals, cursor, sums, edges, arrays, rows, owned):
    """Gather over all blocks without passing anything on; only proxies change. The thread that takes a block writes
    it."""
    share, _, given, known, sent, gathered = arrays
    while True:
        b = atomic_add(cursor, 0, 1)
        if b >= edges.cuts.size - 1:
            break
        lo, hi = edges.cuts[b], edges.cuts[b + 1]
        gather(edges, sent, lo, hi, gathered[lo:hi])
        left, surplus, mass = 0.0, 0.0, 0.0
        for i in range(uint64(lo), uint64(hi)):
            if rows[i] >= owned:
                known[i] = gathered[i]
                continue
            value = given[i] + gathered[i]
            mass += value
            if share[i] > 0:
                left += abs(value - known[i])
                surplus += value - known[i]
        sums[b, 0], sums[b, 1], sums[b, 2] = left, surplus, mass


@kernel
def _receive(ids, values, places, arrays):
    """Add `values` to what rows have received. Returns the sum of their absolute values and the sum of the values for
    rows with out-edges, and the sum of all values."""
    share, given = arrays.share, arrays.given
    absolute, sendable, mass = 0.0, 0.0, 0.0
    for k in range(uint64(ids.size)):
        i = uint64(places[ids[k]])
        given[i] += values[k]
        mass += values[k]
        if share[i] > 0:
            absolute += abs(values[k])
            sendable += values[k]
    return absolute, sendable, mass


@kernel
def _scale(times, arrays):
    """Scale what was passed on, but not what rows received at the start. Proxies receive nothing and have no out-edges.
    Returns the absolute sum of the residuals."""
    share, first, given, known, sent, gathered = arrays
    left = 0.0
    for i in range(uint64(share.size)):
        given[i] = times * given[i] + (1 - times) * first[i]
        known[i] *= times
        sent[i] *= times
        gathered[i] *= times
        left += abs(given[i] + gathered[i] - known[i]) if share[i] > 0 else 0.0
    return left


@kernel
def _results(rows, arrays, passed, held):
    given, known, gathered = arrays.given, arrays.known, arrays.gathered
    for i in range(uint64(rows.size)):
        v = rows[i]
        if v < passed.size:
            passed[v] += known[i]
            held[v] = given[i] + gathered[i] - known[i]
