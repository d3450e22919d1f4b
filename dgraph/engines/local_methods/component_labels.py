"""Components of several partitions joined: each local component becomes one label, its smallest vertex by number; what
is left of the graph are pairs of labels, of vertices that two partitions have in common."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, kernel
from dgraph.solvers.subgraphs.components import flatten, link


class Labels:
    """The labels of one partition's components. `component` has the first vertex of each local vertex's, owned or
    proxy; there `of` has the label, and after `spread` at the others, too."""

    def __init__(self, component: np.ndarray, numbers: np.ndarray, of: np.ndarray, vertices: int):
        self.component, self.of = component, of
        self.dtype = np.uint32 if vertices < 1 << 32 else np.int64  # of labels that travel: as few bytes
        self._none = self.dtype(np.iinfo(self.dtype).max)
        self._met = np.full(len(of), self._none)  # by component: the last label that it has met
        _label(component, numbers, of)

    def at(self, vertices: np.ndarray) -> np.ndarray:
        """The labels of some vertices, to travel."""
        return self.of[self.component[vertices]].astype(self.dtype)

    def meet(self, vertices: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Pairs, as two rows: the label here and the label elsewhere of the same vertices. Most duplicates are left
        out."""
        pairs = np.empty((2, len(vertices)), self.of.dtype)
        return pairs[:, : int(_meet(self.component, self.of, vertices, others, self._met, pairs))].copy()

    def lower(self, vertices: Iterable[np.ndarray], known: np.ndarray, lowest: np.ndarray) -> None:
        """Replace labels `known` (ascending) by `lowest`. `vertices` are all that have met others."""
        changed = known != lowest
        if changed.any():
            for met in vertices:
                _lower(self.component, self._met, self._none, known[changed], lowest[changed], met, self.of)

    def spread(self, n: int) -> None:
        """Give the first n vertices, among which every component has one, their labels."""
        _spread(self.component, self.of[:n])


def joined(pairs: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """All labels of some pairs, ascending, and for each the smallest label that the pairs join it with."""
    ends = np.concatenate(list(pairs), axis=1)
    labels = np.sort(ends, axis=None)
    labels = np.delete(labels, 1 + np.flatnonzero(labels[1:] == labels[:-1]))  # np.unique takes ten times as long
    above = np.arange(len(labels), dtype=np.uint32)
    _join(*np.searchsorted(labels, ends), above)
    return labels, labels[above]


@kernel
def _label(component, numbers, labels):
    """Find the label of each component."""
    for v in range(uint64(component.size)):
        c = uint64(component[v])
        labels[c] = numbers[v] if c == v else min(labels[c], np.int64(numbers[v]))


@kernel
def _meet(component, labels, vertices, others, met, pairs):
    count = uint64(0)
    for i in range(uint64(vertices.size)):
        c = uint64(component[uint64(vertices[i])])
        if met[c] != others[i]:
            met[c] = pairs[1, count] = others[i]
            pairs[0, count] = labels[c]
            count += ONE
    return count


@kernel
def _join(some, others, above):
    for i in range(uint64(some.size)):
        link(some[i], others[i], above)
    flatten(0, above.size, above)


@kernel
def _lower(component, met, none, known, lowest, vertices, labels):
    """Look up the new label of each component that has met others, once."""
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
