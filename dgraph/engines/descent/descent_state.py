"""One partition of block coordinate descent: its queue of blocks, the compiled call in which a team of threads
processes the queue, and its mail.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.agents.daemon_settings import IN_PROCESS, InProcess, title_of
from dgraph.agents.lane import Lane
from dgraph.agents.triplets import PullRequest, PushRequest
from dgraph.codegen.bounds import best_possible, bound_name, is_bounded, smaller_wins
from dgraph.codegen.descent.descent_kernel import DAEMON_KERNELS
from dgraph.codegen.descent.turn import STORED_ARRAYS
from dgraph.devices.cpu import Cpu
from dgraph.engines.descent.block_options import BlockOptions, has_atomic_merge
from dgraph.engines.descent.kernel_arguments import adds_changes, descent_arguments
from dgraph.engines.descent.over_relaxation import RelaxationFactor, RelaxationSearch
from dgraph.errors import OptionError
from dgraph.exchange.proxy_post import BROADCAST, REDUCE
from dgraph.native import block_queue as queue
from dgraph.pipeline.blocks import Block
from dgraph.pipeline.stages import run_sequentially
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import before_name, field_name, inbox_name, incoming_name, phase_name, sent_name
from dgraph.vertex_state.partition_state import PartitionState

# -- daemons -----------------------------------------------------------------------------------------------------------
# Drivers let daemons take blocks of block descent from the same queue as the CPU's threads (GraphABCD's hybrid
# execution). A driver is an additional thread of the team. It has its daemon process the edges of a block; firing
# vertices and notifying other blocks are compiled calls here, because moving a vertex costs more than firing it.


class DaemonDriver:
    """The thread of one daemon. It obeys the rules of the team: no other thread writes to the vertices of its block,
    and the values that it reads are as new as those that other threads read."""

    def __init__(self, lane: Lane, cpu: Cpu, phase: PhaseAnalysis, operator: str, arguments: Mapping[str, Any]):
        self.lane, self.cpu, self.phase = lane, cpu, phase
        (self.message,) = phase.messages
        self.shift, self.owned = (int(arguments["_limits"][what]) for what in (queue.SHIFT, queue.OWNED))
        self.work = self.gather if operator == "pull" else self.spread
        self.kernel = phase_name(phase, operator)
        size = len(arguments["_news"])
        self.own: dict[str, Any] = {"arrived": np.zeros(size, bool)}
        if operator == "pull":
            rows = {name.removeprefix("_in_"): array for name, array in arguments.items() if name.startswith("_in_")}
            self.own |= {**rows, "sending": np.ones(size, bool) if phase.hoisted else arguments["_news"]}
            if is_bounded(phase):  # the best message that is still to come is unknown
                self.own[bound_name(phase, self.message)] = best_possible(self.message)
        else:
            self.own["senders"] = np.zeros(1 << self.shift, np.uint32)
            self.leaving = {"_leavers": self.own["senders"]}
            if phase.hoisted:  # only what rows send now, not everything that their proxies have yet to receive
                self.leaving["_leaving"] = self.own[sent_name(phase, self.message)] = np.zeros(size, self.message.dtype)
        self.rows: np.ndarray = {**arguments, **self.own}["indptr"]
        starts = np.append(np.arange(0, self.owned, 1 << self.shift), self.owned)
        lane.make_room([Block(0, 1 << self.shift, int(np.diff(self.rows[starts]).max(initial=1)))])
        for name in DAEMON_KERNELS[operator]:
            cpu.kernels[name].compile()
        self.failure: BaseException | None = None
        self.blocks = self.edges = 0

    def __call__(self, rank: int, size: int, signals: np.ndarray) -> None:
        """Take blocks until the team is done. After a failure, no thread of the team takes another."""
        self.values["_size"] = size
        stored, limits = [self.values[name] for name in STORED_ARRAYS], self.values["_limits"]
        while (b := queue.next_block(rank, size, signals, *stored, limits)) != queue.NONE:
            if b == queue.LATER:
                continue
            try:
                self.values["_live"][b] = 0.0
                fired, edges = self.work(b << self.shift, min(self.owned, (b + 1) << self.shift))
                self.blocks, self.edges = self.blocks + 1, self.edges + edges
            except BaseException as error:  # including Ctrl-C, because other threads would wait for this one
                self.failure, fired, edges = error, 0, int(queue.ALL)
            queue.finish(b, rank, fired, edges, self.values["_pace"], 0.0, *stored)

    def gather(self, first: int, last: int) -> tuple[int, int]:
        """Pull: the daemon gathers over the in-edges of rows first:last, which then fire. Returns the number of rows
        that fired, and the number of edges."""
        block = Block(first, last, int(self.rows[last] - self.rows[first]))
        if block.edges:
            run_sequentially(
                PullRequest(self.lane, self.kernel, {**self.values, **self.own}, block.edges, lazy=True), [block]
            )
            self.own["arrived"][first:last] = False
        elif self.lane.recipe.analysis.synchronous:
            self.values[inbox_name(self.phase, self.message)][first:last] = self.message.identity
        fired, told = self.cpu.kernels["gathered"].run_rows(first, last, self.values)
        return fired, block.edges + told

    def spread(self, first: int, last: int) -> tuple[int, int]:
        """Push: rows first:last fire, and the daemon sends along their out-edges. Returns the number of rows that
        fired, and the number of edges."""
        fired, count = self.cpu.kernels["leaving"].run_rows(first, last, {**self.values, **self.leaving})
        senders = self.own["senders"][:count]
        edges = int((self.rows[senders + 1] - self.rows[senders]).sum())
        if edges:
            request = PushRequest(self.lane, self.kernel, {**self.values, **self.own}, self, lazy=False)
            run_sequentially(request, [Block(0, count, edges)])
        return fired, edges

    def receive(self, ids: np.ndarray, messages: dict[str, np.ndarray]) -> int:
        """Merge what the daemon has merged per target into the targets' inboxes; returns the number of bytes."""
        values = {incoming_name(name): array for name, array in messages.items()}
        self.cpu.kernels["arriving"].run_rows(0, len(ids), {**self.values, **values, "ids": ids})
        return ids.nbytes + sum(array.nbytes for array in messages.values())

    def begin(self, values: Mapping[str, Any]) -> None:
        """Take over the arrays and scalars of a new epoch."""
        self.values, self.blocks, self.edges = dict(values), 0, 0

    @property
    def title(self) -> str:
        return title_of(self.lane.kind)


class DescentState:
    """The blocks of the vertices that a partition owns. Proxies have no blocks; mail brings them news of masters."""

    def __init__(self, state: PartitionState, phase: PhaseAnalysis, blocks: BlockOptions, side: str, resumed: bool):
        self.state, self.phase, self.blocks, self.n = state, phase, blocks, state.n
        (self.message,) = phase.messages
        self.synchronous, self.adds = state.analysis.synchronous, adds_changes(state, blocks)
        self.ordered = smaller_wins(self.message) is not None and not self.synchronous
        agent: Any = state.agent
        self.cpu: Cpu = agent if isinstance(agent, Cpu) else agent.device
        beside = [lane for lane in agent.lanes if lane.kind != InProcess()]
        works = not beside or len(beside) < len(agent.lanes)  # whether the CPU itself takes blocks
        self.threads = (self.cpu.num_threads if has_atomic_merge(self.message) else 1) if works else 0
        self.arguments = descent_arguments(state, phase, blocks, side, self.threads + len(beside))
        self.board, self.live, self.limits = (self.arguments[name] for name in ("_board", "_live", "_limits"))
        self.fresh, self.copied = self.arguments["_fresh"], self.arguments["_copied"]
        self.shift = int(self.limits[queue.SHIFT])
        self.edges = max(1, len(self.arguments["neighbours" if "neighbours" in self.arguments else "_in_neighbours"]))
        factors = [field.name for field in state.analysis.parameters if isinstance(field, RelaxationFactor)]
        self.relaxations = {name: RelaxationSearch() for name in factors if state.partition.parts == 1}
        self.begun, self.globals = time.perf_counter(), dict[str, Any]()
        self.drivers = [DaemonDriver(lane, self.cpu, phase, blocks.operator, self.arguments) for lane in beside]
        self._begin(resumed)

    # -- work ----------------------------------------------------------------------------------------------------------

    def _begin(self, resumed: bool) -> None:
        """Fill the queue with the first blocks, and record which changes must be sent."""
        state = self.state
        if self.adds:
            self._inbox[:] = 0
            if self._sent is not None:
                self._sent[:] = 0
            self._descend(sweep=True, first=True)
        elif self.synchronous:
            state.emit(self.phase)
            self.fresh[: self.n] = True
        elif resumed:
            self._resume()
        else:
            self._wake_arrived()
        if self.blocks.operator == "pull_push":
            state.agent.rows("fill", self.n, {**state.values, **self.arguments})

    def epoch(self, number: int, sweep: bool = False) -> None:
        """Take blocks from the queue until no block waits, or as many edges have been visited as the partition has. A
        sweep takes every block once, in order."""
        state = self.state
        for name in state.analysis.before if not self.adds else ():
            np.copyto(state.values[before_name(name)], state.values[field_name(name)])
        state.prepare_round(self.phase, number)
        waited = np.count_nonzero(self.fresh)
        self._descend(sweep)
        state.frontier.sent += int(np.count_nonzero(self.fresh) - waited)
        self.fresh &= self.copied  # vertices without proxies have nothing to send to other partitions
        if self.adds and not self.residual < np.inf:  # a sum that an infinite value was added to stays infinite
            raise OptionError(
                f'operator="push" sends differences between values, but vertices of {state.analysis.title} sent an '
                'infinite value or NaN; choose operator="pull", which sends the values themselves'
            )
        for name, relaxation in self.relaxations.items():
            relaxation.learn(self.residual)
            state.values[field_name(name)] = relaxation.factor
        self.arguments["_least"] = self.blocks.share * self.residual / self.edges

    def _descend(self, sweep: bool, first: bool = False) -> None:
        """Run the kernel. In the `first` sweep of a program whose vertices add up changes, all vertices send their
        start values."""
        board, limits = self.board, self.limits
        for what in (queue.EDGES, queue.DONE, queue.FIRED, queue.STALENESS, queue.CURSOR, queue.TOLD):
            board[what] = 0
        limits[queue.SWEEP], limits[queue.FIRST] = sweep, first
        limits[queue.BUDGET] = queue.ALL if sweep else self.edges
        values = {**self.state.values, **self.arguments}
        for driver in self.drivers:
            driver.begin(values)
        self.cpu.team("descend", self.threads, values, self.drivers)
        for driver in self.drivers:
            if driver.failure is not None:
                raise driver.failure
        self.state.total["fired"] += int(board[queue.FIRED])
        self.state.total["edges"] += int(board[queue.EDGES])

    def must_sweep(self, known: Mapping[str, Any]) -> bool:
        """Whether the next epoch must visit every vertex: either a global value that `apply` reads has changed, or
        vertices add up changes, in which case no list records which blocks have news."""
        now = {name: known[name] for name in self.phase.apply.names_of("global")}
        before, self.globals = self.globals, now
        return self.adds or now != before

    @property
    def blocks_waiting(self) -> int:
        return int(self.board[queue.COUNT])

    @property
    def waiting(self) -> int:
        """How many blocks and proxies have something to do or to send."""
        news = np.count_nonzero(self.live) if self.adds else self.blocks_waiting
        return int(news) + self.state.waiting_proxies + int(np.count_nonzero(self.fresh & self.copied))

    @property
    def residual(self) -> float:
        """The sum of the absolute changes that vertices have not taken into account yet; for ordered messages, the
        number of vertices with a waiting message."""
        if not self.ordered:
            return float(self.live.sum())
        return float(np.count_nonzero(self._inbox[: self.n] != self.arguments["_taken"][: self.n]))

    def columns(self) -> dict[str, Any]:
        """Columns of the report's row of an epoch."""
        return {
            **self._shares(),
            "direction": self.blocks.operator,
            "blocks": int(self.board[queue.DONE]),
            "epochs": self.state.total["edges"] / self.edges,
            "residual": self.residual,
            "staleness": int(self.board[queue.STALENESS]),
            "seconds": time.perf_counter() - self.begun,
        }

    def _shares(self) -> dict[str, int]:
        """Report columns with the number of blocks and edges that each kind of daemon took, if there are daemons."""
        found: defaultdict[str, int] = defaultdict(int)
        if self.drivers:
            found["block_size"] = 1 << self.shift
            found[f"blocks {IN_PROCESS}"] = int(self.board[queue.DONE]) - sum(one.blocks for one in self.drivers)
            found[f"edges {IN_PROCESS}"] = int(self.board[queue.EDGES]) - sum(one.edges for one in self.drivers)
        for driver in self.drivers:
            found[f"blocks {driver.title}"] += driver.blocks
            found[f"edges {driver.title}"] += driver.edges
        return dict(found)

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def halt(self) -> None:
        """Set the senders that a checkpoint records, when no mail is in transit. With push, these are the vertices with
        a waiting message; with pull, all vertices that have ever sent, because some readers may not have looked since.
        A checkpoint of a synchronous program holds only states."""
        if self.synchronous:
            return
        if self.blocks.operator == "push":
            waits = self._inbox != self.arguments["_taken"]
        else:
            waits = self.arguments["_news"] if self._sent is None else self._sent != self.message.identity
        self.state.frontier.send(np.flatnonzero(waits[: self.n]).astype(np.uint32))

    def _resume(self) -> None:
        """Go on from a checkpoint."""
        ids, taken = self.state.frontier.senders, self.arguments["_taken"]
        if self.blocks.operator != "push":
            self.arguments["_news"][ids] = self.fresh[ids] = True
            self._wake(np.arange(self.n))
            return
        if self._sent is not None:
            self._sent[:] = self.message.identity  # all proxies are up to date
        if self.phase.idempotent:
            taken[: self.n] = self._inbox[: self.n]
            taken[ids] = self.message.identity
        self._wake(ids)

    # -- mail ----------------------------------------------------------------------------------------------------------

    def tell(self, side: str, target_side: str, everything: bool = False) -> None:
        """Send proxies what their masters have sent, and masters what their proxies have gathered. While blocks wait
        here, and unless `everything` is true, send only the most urgent messages; the others may still change."""
        state = self.state
        told = self._most_urgent(np.flatnonzero(self.fresh & self.copied), self._sent, everything)
        if len(told):
            state.post.broadcast(BROADCAST, side, self._travels(), self._mask(told))
            self.fresh[told] = False
            if self._sent is not None and not self.phase.idempotent and not self.synchronous:
                self._sent[told] = self.message.identity
            elif self._sent is None and not self.synchronous:
                self._wake(told[self._inbox[told] != self.message.identity])  # these waited for this broadcast
        proxies = self._most_urgent(self.n + np.flatnonzero(state.values["arrived"][self.n :]), self._inbox, everything)
        if len(proxies):
            state.post.reduce(target_side, [self._inbox], self._mask(proxies))
            state.values["arrived"][proxies] = False
            if not self.phase.idempotent:
                self._inbox[proxies] = self.message.identity

    def hear(self, side: str, target_side: str) -> None:
        """Merge the mail of other partitions, and add the blocks that it concerns to the queue."""
        state = self.state
        for mail in state.post.collect({BROADCAST: side, REDUCE: target_side}):
            tag, ids, values = mail
            if tag == REDUCE:
                state.merge(self.phase, [mail])
                continue
            news = {"_ids": ids, "_gain": self._gain(ids, values)}
            for array, value in zip(self._travels(), values, strict=True):
                array[ids] = value
            self.arguments["_news"][ids] = True
            state.total["edges"] += int(state.agent.once("relay", len(ids), {**state.values, **self.arguments, **news}))
            if self._sent is not None and not self.phase.idempotent and not self.synchronous:
                self._sent[ids] = self.message.identity
        if not self.synchronous:
            self._wake_arrived()

    def _gain(self, ids: np.ndarray, values: list[np.ndarray]) -> np.ndarray:
        """The urgency of what masters have sent: the change of its first field, or 1 if it has no fields."""
        if not values:
            return np.ones(len(ids))
        with np.errstate(invalid="ignore"):  # infinity minus infinity is NaN
            change = np.abs(values[0].astype(float) - self._travels()[0][ids].astype(float))
        return np.where(change < np.inf, change, 1e300)

    def _most_urgent(self, ids: np.ndarray, values: np.ndarray | None, everything: bool) -> np.ndarray:
        """The vertices in `ids` whose message is at least as urgent as the mean; all of `ids` once no block waits, or
        if `everything` is true."""
        if values is None or everything or self.synchronous or not len(ids) or not self.blocks_waiting:
            return ids
        messages = values[ids].astype(float)
        if self.ordered:
            gain = -messages if smaller_wins(self.message) else messages
        else:
            gain = np.abs(messages)
        return ids[gain >= (gain / len(gain)).sum()]  # gain.mean() may overflow

    def _travels(self) -> list[np.ndarray]:
        """The arrays whose values masters send to their proxies."""
        return [self.state.values[name] for name in self.phase.broadcast]

    def _mask(self, ids: np.ndarray) -> np.ndarray:
        found = np.zeros(self.state.size, bool)
        found[ids] = True
        return found

    def _wake_arrived(self) -> None:
        """Add the blocks of vertices that have received messages to the queue."""
        ids = self.state.ready()
        self.state.values["arrived"][ids] = False
        self._wake(ids)
        self.state.frontier.queued = 0

    def _wake(self, ids: np.ndarray) -> None:
        values = {**self.state.values, **self.arguments, "_ids": ids.astype(np.uint32)}
        self.state.agent.once("wake", len(ids), values)

    @property
    def _inbox(self) -> np.ndarray:
        return self.state.values[inbox_name(self.phase, self.message)]

    @property
    def _sent(self) -> np.ndarray | None:
        """What vertices have sent since their proxies were updated, or None if it differs between their edges."""
        return self.state.values[sent_name(self.phase, self.message)] if self.phase.hoisted else None
