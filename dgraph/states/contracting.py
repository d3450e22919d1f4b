"""A partition of a program that finds the smallest vertex of each component. Each partition joins vertices by its own
edges, once, and gives each local component a *label*, its smallest vertex. Where a vertex has copies in two partitions,
it has a label in each: such a pair of labels is one component. All pairs are joined in one place, so two partitions
take one exchange, and more of them three, whatever the graph.

A checkpoint has the labels of vertices, and none of the pairs: a run that resumes from it begins again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dgraph.agents.vertex_lists import NOBODY
from dgraph.analysis import PhaseAnalysis
from dgraph.exchange.post import ANSWER, BROADCAST, REDUCE, REPORT
from dgraph.names import inbox
from dgraph.solvers.contraction import Labels, joined
from dgraph.solvers.solver import Contract
from dgraph.states.state import PartitionState

ROOT = 0  # the partition that joins the pairs of all, where they are more than two
Letters = set[tuple[int, int]]  # by tag and sender


class Contracting(PartitionState):
    """A state that is driven by `settle`, `tell` and `hear`. Inboxes hold labels; all vertices fire once, at the
    end."""

    settles = True
    together = True  # whether others wait for what all partitions tell, so that it can as well go in one message

    def __init__(self, contract: Contract, *arguments: Any):
        super().__init__(*arguments)
        self.unite = contract.unite
        self.came: dict[tuple[int, int], list[np.ndarray]] = {}
        self.letters: list[Any] = []  # to be sent
        self.awaited: Letters | None = set()  # None: this partition knows its answer
        self.course: Iterator[Letters] = self._course()

    def settle(self, phase: PhaseAnalysis) -> None:
        """Go on along the course (`_course`) until mail is missing, or there is something to tell before labels
        change."""
        while self.waiting and not self.letters:
            self.awaited = next(self.course, None)

    def tell(self, phase: PhaseAnalysis, side: str, target_side: str) -> int:
        """Send what there is to tell; returns the number of buffers."""
        before = self.post.buffers
        for send in self.letters:
            send()
        self.letters = []
        return self.post.buffers - before

    def hear(self, phase: PhaseAnalysis, side: str, target_side: str) -> None:
        """Keep what has come until all that is awaited is here."""
        for tag, sender, _, values in self.post.opened((REDUCE, BROADCAST, REPORT, ANSWER)):
            self.came[tag, sender] = values

    @property
    def waiting(self) -> int:
        """1 if all that is awaited is here, else 0."""
        return int(self.awaited is not None and self.awaited <= self.came.keys())

    @property
    def news(self) -> int:
        """1 if there is more to come, else 0."""
        return int(not self.settled)

    @property
    def settled(self) -> bool:
        return self.awaited is None

    def _course(self) -> Iterator[Letters]:
        """The whole algorithm, from the first round to the end: it yields the mail that it must have before it can go
        on."""
        post, parts, n, everybody = self.post, self.partition.parts, self.n, np.arange(self.size, dtype=np.uint32)
        component, looked = self.unite(self.edges)
        self.total["edges"] += looked
        (phase,) = self.analysis.phases
        (message,) = phase.messages
        labels = Labels(component, self.partition.numbers, self.values[inbox(phase, message)])
        masters = {q: post.masters("any", q) for q in post.peers}
        proxies = {q: everybody[post.proxies("any", q)] for q in post.peers}
        of = labels.narrow(self.values["vertices"])
        self.letters.append(partial(post.reduce, "any", [of], None))
        awaited = {(REDUCE, q) for q in post.peers if len(masters[q])}
        if parts == 2:  # then each knows all pairs
            self.letters.append(partial(post.broadcast, BROADCAST, "any", [of], None))
            awaited |= {(BROADCAST, q) for q in post.peers if len(proxies[q])}
        yield awaited
        pairs = [labels.meet(everybody[n:], labels.of[n:])]
        for tag, q in sorted(awaited):
            (others,) = self.came.pop((tag, q))
            pairs.append(labels.meet((masters if tag == REDUCE else proxies)[q], others))
        known, lowest = joined(pairs)
        if parts > 2:
            self.letters.append(partial(post.give, ROOT, REPORT, [known, lowest]))
            if self.partition.index == ROOT:
                yield {(REPORT, q) for q in range(parts)}
                self.letters += self._answers()
                self.together = False
            yield {(ANSWER, ROOT)}
            (lowest,) = self.came[ANSWER, ROOT]
        labels.lower(known, lowest, n)
        self.fire_these(phase, everybody[:n])
        self.frontier.send(NOBODY)

    def _answers(self) -> list[Any]:
        """At the root: for each partition the smallest label that each label of its report is one with."""
        reports = {q: values for (tag, q), values in self.came.items() if tag == REPORT}
        known, lowest = joined(np.stack(report) for report in reports.values())
        return [
            partial(self.post.give, q, ANSWER, [lowest[np.searchsorted(known, labels)]])
            for q, (labels, _) in reports.items()
        ]

    def halt(self) -> None:
        """For a checkpoint: all fire with the labels they have; a run that resumes by single steps has all of them
        send."""
        (phase,) = self.analysis.phases
        everybody = np.arange(self.n, dtype=np.uint32)
        self.fire_these(phase, everybody)
        self.frontier.send(everybody)
