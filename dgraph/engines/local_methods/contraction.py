"""Connected components over several partitions, by contraction.

Each partition finds the components of its own edges, once, and gives each of these local components a *label*: its
smallest vertex. A vertex with copies in two partitions has a label in each, so these two labels belong to one
component. All such pairs of labels are joined in one place. Two partitions need one exchange and more than two need
three, whatever the graph looks like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numba import uint64

from dgraph.engines.local_methods.local_rounds import FreeLocalRounds
from dgraph.exchange.proxy_post import BORDER_ANSWER, BORDER_REPORT, BROADCAST, REDUCE
from dgraph.native.team import ONE, kernel
from dgraph.programs.kernel_names import inbox_name
from dgraph.solvers.solver import LocalMethod
from dgraph.solvers.subgraphs.components import local_components
from dgraph.solvers.union_find import join_pairs
from dgraph.vertex_state.local_state import LocalState

ROOT_PARTITION = 0  # the partition that joins all pairs, if there are more than two partitions
MailKeys = set[tuple[int, int]]  # the tag and sender of each letter


class FreeContractionRounds(FreeLocalRounds):
    """Bulk-asynchronous rounds of a `ContractState`. The state knows when it has its result, so a worker leaves without
    a vote, unless another worker may still ask for a checkpoint."""

    promises = False  # nobody waits for more than the state does

    @property
    def over(self) -> bool:
        if self.standstill is None and all(state.settled for state in self.states):
            return self.mail.at_rest
        return super().over

    @property
    def idle(self) -> bool:
        return self.standstill is not None and super().idle

    def goes_on(self, state: Any) -> bool:
        """Unlike other methods, do not wait for messages in transit: this one cannot merge its own with them."""
        return bool(self.waiting(state))

    def advance(self, state: Any) -> int:
        state.settle()
        state.tell(self.senders, self.targets)
        if not state.together:
            self.mail.post()
        return 1


class ContractState(LocalState):
    """The state of one partition. Labels end up in the inboxes, and results are computed from there, so vertices fire
    only for a checkpoint. A checkpoint holds the labels but not the pairs, so a resumed run starts over."""

    free_rounds = FreeContractionRounds
    together = True  # False once other partitions wait for what this one sends, which then goes out immediately

    def __init__(self, _: LocalMethod, *arguments: Any):
        super().__init__(*arguments)
        self.labels: ComponentLabels | None = None  # None until the local components are known
        self.received: dict[tuple[int, int], list[np.ndarray]] = {}
        self.unsent: list[Callable[[], None]] = []
        self.awaited: MailKeys | None = set()  # None once this partition has its result
        self.steps: Iterator[MailKeys] = self._steps()

    def seed(self) -> None:
        """Do nothing, because labels take the place of the first messages."""

    def settle(self) -> None:
        """Run `_steps` until it waits for letters, or has letters to send."""
        while self.waiting and not self.unsent:
            self.awaited = next(self.steps, None)

    def tell(self, side: str, target_side: str) -> None:
        for send in self.unsent:
            send()
        self.unsent = []

    def hear(self, side: str, target_side: str) -> None:
        for tag, sender, _, values in self.post.receive((REDUCE, BROADCAST, BORDER_REPORT, BORDER_ANSWER)):
            self.received[tag, sender] = values

    @property
    def waiting(self) -> int:
        """1 if everything awaited has arrived, else 0."""
        return int(self.awaited is not None and self.awaited <= self.received.keys())

    @property
    def news(self) -> int:
        """1 if there is more to do, else 0."""
        return int(not self.settled)

    @property
    def settled(self) -> bool:
        return self.awaited is None

    def _steps(self) -> Iterator[MailKeys]:
        """The whole algorithm. It yields the letters that it needs before it can continue."""
        post, parts = self.post, self.partition.parts
        self.labels = labels = self.local_labels()
        masters = {q: ids for q in post.peers if len(ids := self.labelled(post.masters("any", q)))}
        proxies = {q: ids for q in post.peers if len(ids := self.labelled(_range(post.proxies("any", q))))}
        letters = [(q, REDUCE, ids) for q, ids in proxies.items()]
        expected = {(REDUCE, q): ids for q, ids in masters.items()}
        if parts == 2:  # each partition knows all pairs
            letters += [(q, BROADCAST, ids) for q, ids in masters.items()]
            expected |= {(BROADCAST, q): ids for q, ids in proxies.items()}
        self.unsent += [partial(post.send_to, q, tag, [labels.at(ids)]) for q, tag, ids in letters]
        yield set(expected)
        copies = self.labelled(_range(slice(self.n, self.size)))
        pairs = [labels.pairs(copies, labels.at(copies))]
        for letter in sorted(expected):
            (others,) = self.received.pop(letter)
            pairs.append(labels.pairs(expected[letter], others))
        known, lowest = join(pairs)
        if parts > 2:
            self.unsent.append(partial(post.send_to, ROOT_PARTITION, BORDER_REPORT, [known, lowest]))
            if self.partition.index == ROOT_PARTITION:
                yield {(BORDER_REPORT, q) for q in range(parts)}
                self.unsent += self._answers()
                self.together = False
            yield {(BORDER_ANSWER, ROOT_PARTITION)}
            (lowest,) = self.received[BORDER_ANSWER, ROOT_PARTITION]
        labels.replace([copies, *masters.values()], known, lowest)
        self.spread(labels)
        self.total["fired"] += self.n

    def local_labels(self) -> ComponentLabels:
        """The labels of this partition's own components, in the inboxes."""
        component, edges_read = local_components(self.edges)
        self.total["edges"] += edges_read
        (inbox,) = self.inboxes
        return ComponentLabels(component, self.partition.numbers, inbox, self.values["vertices"])

    def labelled(self, ids: np.ndarray) -> np.ndarray:
        """What has labels of these local vertices."""
        return ids

    def spread(self, labels: ComponentLabels) -> None:
        """Write the labels of all owned vertices to the inboxes."""
        labels.spread(self.n)

    @property
    def inboxes(self) -> list[np.ndarray]:
        (phase,) = self.analysis.phases
        return [self.values[inbox_name(phase, message)] for message in phase.messages]

    def _answers(self) -> list[Callable[[], None]]:
        """At the root, send each partition the smallest label of the component of each label that it reported."""
        reports = {q: values for (tag, q), values in self.received.items() if tag == BORDER_REPORT}
        known, lowest = join(np.stack(report) for report in reports.values())
        return [
            partial(self.post.send_to, q, BORDER_ANSWER, [lowest[np.searchsorted(known, labels)]])
            for q, (labels, _) in reports.items()
        ]

    def halt(self) -> None:
        """Prepare for a checkpoint: fire all vertices with their current labels, so that all of them send when a run
        resumes from it by single steps."""
        if self.labels is None:
            super().seed()
        else:
            self.spread(self.labels)
        (phase,) = self.analysis.phases
        owned = _range(slice(self.n))
        self.fire_vertices(phase, owned)
        self.frontier.send(owned)

    def results(self, kernel: str = "settled") -> dict[str, np.ndarray]:
        return super().results(kernel)


class ContractionMethod(LocalMethod):
    """The method for programs that find the smallest vertex of each component."""

    finds_messages = True
    state: ClassVar[type] = ContractState


class ComponentLabels:
    """The labels of one partition's components. `component` maps each local vertex, owned or proxy, to the first vertex
    of its local component; `of` holds the label at that vertex, and after `spread` at all vertices."""

    def __init__(self, component: np.ndarray, numbers: np.ndarray, of: np.ndarray, vertices: int):
        self.component, self.of = component, of
        self.dtype = np.uint32 if vertices < 1 << 32 else np.int64  # dtype of labels in letters; small, to save bytes
        self._none = self.dtype(np.iinfo(self.dtype).max)
        self._met = np.full(len(of), self._none)  # by component: the label it was last paired with
        _label(component, numbers, of)

    def at(self, vertices: np.ndarray) -> np.ndarray:
        """The labels of these vertices, in the dtype of letters."""
        return self.of[self.component[vertices]].astype(self.dtype)

    def pairs(self, vertices: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Two rows: the labels of vertices in this partition, and their labels elsewhere. Omits most duplicates."""
        pairs = np.empty((2, len(vertices)), self.of.dtype)
        return pairs[:, : int(_pair(self.component, self.of, vertices, others, self._met, pairs))].copy()

    def replace(self, vertices: Iterable[np.ndarray], known: np.ndarray, lowest: np.ndarray) -> None:
        """Replace the labels `known` (ascending) with `lowest`. `vertices` are all that were given to `pairs`."""
        changed = known != lowest
        if changed.any():
            for ids in vertices:
                _replace(self.component, self._met, self._none, known[changed], lowest[changed], ids, self.of)

    def spread(self, n: int) -> None:
        """Write the labels of the first n vertices. Every component has one vertex among them."""
        _spread(self.component, self.of[:n])


def join(pairs: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """All labels of these pairs in ascending order, each with the smallest label that the pairs join it with."""
    ends = np.concatenate(list(pairs), axis=1)
    labels = np.sort(ends, axis=None)
    labels = np.delete(labels, 1 + np.flatnonzero(labels[1:] == labels[:-1]))  # np.unique takes ten times as long
    above = np.arange(len(labels), dtype=np.uint32)
    join_pairs(*np.searchsorted(labels, ends), above)
    return labels, labels[above]


def _range(ids: slice) -> np.ndarray:
    return np.arange(ids.start or 0, ids.stop, dtype=np.uint32)


@kernel
def _label(component, numbers, labels):
    for v in range(uint64(component.size)):
        c = uint64(component[v])
        labels[c] = numbers[v] if c == v else min(labels[c], np.int64(numbers[v]))


@kernel
def _pair(component, labels, vertices, others, met, pairs):
    count = uint64(0)
    for i in range(uint64(vertices.size)):
        c = uint64(component[uint64(vertices[i])])
        if met[c] != others[i]:
            met[c] = pairs[1, count] = others[i]
            pairs[0, count] = labels[c]
            count += ONE
    return count


@kernel
def _replace(component, met, none, known, lowest, vertices, labels):
    """Look up, once per paired component, its new label."""
    for i in range(uint64(vertices.size)):
        c = uint64(component[uint64(vertices[i])])
        if met[c] == none:
            continue
        met[c] = none
        label, low, high = labels[c], uint64(0), uint64(known.size)
        while low < high:
            middle = (low + high) >> ONE
            if known[middle] < label:
                low = middle + ONE
            else:
                high = middle
        if low < uint64(known.size) and known[low] == label:
            labels[c] = lowest[low]


@kernel
def _spread(component, labels):
    for v in range(uint64(labels.size)):
        labels[v] = labels[uint64(component[v])]
