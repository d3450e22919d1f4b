"""A partition of a program of sums (`DiffusionMethod`) that gathers over all its edges again and again, together with
what has come from others, and tells others by how much their sums have changed. While most of what vertices gain is
worth passing on, this takes a third of the time of adding messages to inboxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.engines.local_methods.diffusion_kernels import Diffusion
from dgraph.engines.local_methods.local_state import LocalState
from dgraph.exchange.proxy_post import REDUCE
from dgraph.programs.kernel_names import by_name, inbox
from dgraph.solvers.solver import DiffusionMethod

NEARLY = 0.7  # of what they would hold back if each held back all that it may: what vertices do hold back in sum
SURELY = 0.3  # taken for the sum of all that vertices have, until that is known: as a rule there is as much


class DiffusionState(LocalState):
    """To settle is one look at all edges."""

    def __init__(self, diffuse: DiffusionMethod, *arguments: Any):
        super().__init__(*arguments)
        self.diffuse, self.pulled = diffuse, True
        self.untold = False  # whether proxies may have news for their masters
        self.heard: set[int] = set()  # who has told something since the last look

    def begin(self) -> None:
        super().begin()
        (phase,) = self.analysis.phases
        self.fields = by_name(self.values)
        names, values = self.diffuse, self.fields
        self.inbox = self.values[inbox(phase, phase.messages[0])]
        given = np.add(values[names.held][: self.n], self.inbox[: self.n], dtype=np.float64)
        masters = {q: self.post.masters("any", q) for q in self.post.peers}
        self.told_by = {q for q, of in masters.items() if len(of)}  # the partitions that ever tell this one something
        self.stages = int(values[names.stages])  # that are to come, with this one
        self.opening = self.stages > 1
        factor, strength = float(values[names.factor]), values.get(names.strength)
        # as a start, that everybody gets in proportion to what they are given: no look has to bring that about
        times = 1 / (1 - factor) if self.opening else 0.0
        self.diffusion = Diffusion(self.edges, factor, strength, given, times)
        self.limit = np.inf if self.opening else self._limit(0.0)  # how much may be left here in this stage
        self.inbox[:] = 0

    def settle(self) -> None:
        """Look at all edges. If little is left to pass on, look once more without passing on anything: that tells
        exactly how much is left, and what proxies have gathered."""
        looks, self.heard = 0, set()
        if not self.opening:
            self.diffusion.look()
            looks += 1
        self.opening = False
        if not self.looks:
            self.diffusion.listen()
            looks += 1
        self.total["fired"] += self.n
        self.total["edges"] += looks * len(self.diffusion.edges.senders)
        self.untold = self.size > self.n

    def tell(self, side: str, target_side: str) -> None:
        """Tell masters by how much the sums of their proxies have changed."""
        proxies = self.inbox[self.n :]
        proxies[:] = self.diffusion.news()
        self.diffusion.told += proxies
        self.post.reduce(target_side, [self.inbox], [0])
        proxies[:] = 0
        self.untold = False

    def hear(self, side: str, target_side: str) -> None:
        """Add what other partitions have told."""
        self.heard |= {sender for sender, _ in self.post.brought or ()}
        for _, ids, (values,) in self.post.collect({REDUCE: target_side}):
            self.diffusion.take_in(ids, values)

    @property
    def looks(self) -> bool:
        """Whether more is left to pass on than may be at the end of this stage."""
        return self.opening or self.diffusion.left + self.diffusion.came > max(self.limit, self.diffusion.noise)

    @property
    def pays(self) -> bool:
        """Whether all partitions have told something since the last look. A look before that would mostly be made
        again."""
        return self.heard >= self.told_by

    @property
    def waiting(self) -> int:
        return int(self.looks or self.untold)

    def conclude(self) -> None:
        """Write the states, when the run or a stage of it is over."""
        if self.stages == 1:
            names = self.diffuse.passed, self.diffuse.held
            self.diffusion.results(*(self.fields[name][: self.n] for name in names))

    def fold(self, kernel: str = "fold") -> list[tuple]:
        """The same values; but at the end of a stage that is not the last, the sums that the next stage begins from."""
        if kernel != "conclude" or self.stages == 1:
            return super().fold(kernel)
        names, found = self.diffuse, self.diffusion
        known = {names.surplus: found.surplus, names.mass: found.mass, names.given: found.supply}
        each_round = self.analysis.globals_each_round
        return [tuple(known.get(name, 0.0) for name in self.analysis.globals if name not in each_round)]

    def next_stage(self, totals: Mapping[str, Any]) -> bool:
        """Begin the next stage, if there is one, and return whether there is: from a multiple of what was passed on,
        chosen such that what is left sums to nothing, because what has one sign fades slowest."""
        self.stages -= 1
        if self.stages:
            given, left = totals[self.diffuse.given], totals[self.diffuse.surplus]
            times = given / max(given - left, given / self.diffuse.most) if given else 1.0
            self.diffusion.scale(times)
            self.limit = self._limit(times * totals[self.diffuse.mass])
        return self.stages > 0

    def _limit(self, mass: float) -> float:
        """How much may be left at the end of this stage. `mass`: the sum of all that vertices have, 0 before the first
        stage has found it; with little mass, less may be left."""
        least = self.fields[self.diffuse.least] * self.fields[self.diffuse.falls] ** (self.stages - 1)
        return NEARLY * min(mass or SURELY, 1.0) * least * len(self.diffusion.edges.senders)
