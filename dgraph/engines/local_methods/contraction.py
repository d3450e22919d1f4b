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

from dgraph.engines.local_methods.component_labels import Labels, joined
from dgraph.engines.local_methods.local_state import LocalState
from dgraph.exchange.proxy_post import ANSWER, BROADCAST, REDUCE, REPORT
from dgraph.programs.kernel_names import inbox
from dgraph.solvers.solver import ContractionMethod

ROOT = 0  # the partition that joins the pairs of all, where they are more than two
Letters = set[tuple[int, int]]  # by tag and sender


class ContractionState(LocalState):
    """Inboxes hold labels in the end, from which results are computed: vertices fire only for a checkpoint."""

    together = True  # whether others wait for what all partitions tell, so that it can as well go in one message

    def __init__(self, contract: ContractionMethod, *arguments: Any):
        super().__init__(*arguments)
        self.unite = contract.unite
        self.labels: Labels | None = None  # until vertices have been joined
        self.came: dict[tuple[int, int], list[np.ndarray]] = {}
        self.letters: list[Any] = []  # to be sent
        self.awaited: Letters | None = set()  # None: this partition knows its answer
        self.course: Iterator[Letters] = self._course()

    def seed(self) -> None:
        """Nothing: labels take the place of the first messages."""

    def settle(self) -> None:
        """Go on along the course (`_course`) until mail is missing, or there is something to tell before labels
        change."""
        while self.waiting and not self.letters:
            self.awaited = next(self.course, None)

    def tell(self, side: str, target_side: str) -> None:
        """Send what there is to tell."""
        for send in self.letters:
            send()
        self.letters = []

    def hear(self, side: str, target_side: str) -> None:
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
        post, parts = self.post, self.partition.parts
        component, looked = self.unite(self.edges)
        self.total["edges"] += looked
        (phase,) = self.analysis.phases
        (message,) = phase.messages
        self.labels = labels = Labels(
            component, self.partition.numbers, self.values[inbox(phase, message)], self.values["vertices"]
        )
        masters = {q: ids for q in post.peers if len(ids := post.masters("any", q))}
        proxies = {q: ids for q in post.peers if len(ids := _range(post.proxies("any", q)))}
        letters = [(q, REDUCE, ids) for q, ids in proxies.items()]
        met = {(REDUCE, q): ids for q, ids in masters.items()}
        if parts == 2:  # then each knows all pairs
            letters += [(q, BROADCAST, ids) for q, ids in masters.items()]
            met |= {(BROADCAST, q): ids for q, ids in proxies.items()}
        self.letters += [partial(post.give, q, tag, [labels.at(ids)]) for q, tag, ids in letters]
        yield set(met)
        copies = _range(slice(self.n, self.size))
        pairs = [labels.meet(copies, labels.at(copies))]
        for letter in sorted(met):
            (others,) = self.came.pop(letter)
            pairs.append(labels.meet(met[letter], others))
        known, lowest = joined(pairs)
        if parts > 2:
            self.letters.append(partial(post.give, ROOT, REPORT, [known, lowest]))
            if self.partition.index == ROOT:
                yield {(REPORT, q) for q in range(parts)}
                self.letters += self._answers()
                self.together = False
            yield {(ANSWER, ROOT)}
            (lowest,) = self.came[ANSWER, ROOT]
        labels.lower([copies, *masters.values()], known, lowest)
        labels.spread(self.n)
        self.total["fired"] += self.n

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
        if self.labels is None:
            super().seed()
        else:
            self.labels.spread(self.n)
        (phase,) = self.analysis.phases
        everybody = _range(slice(self.n))
        self.fire_these(phase, everybody)
        self.frontier.send(everybody)

    def results(self, kernel: str = "settled") -> dict[str, np.ndarray]:
        return super().results(kernel)


def _range(ids: slice) -> np.ndarray:
    return np.arange(ids.start or 0, ids.stop, dtype=np.uint32)
