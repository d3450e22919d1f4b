"""Components of several partitions joined: each local component becomes one label, its smallest vertex by number; what
is left of the graph are pairs of labels, of vertices that two partitions have in common."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numba import uint64

from dgraph.solvers.components import flatten, link
from dgraph.solvers.team import kernel

ONE = uint64(1)


class Labels:
    """The labels of one partition, in `of`, by local vertex, owned or proxy."""

    def __init__(self, component: np.ndarray, numbers: np.ndarray, of: np.ndarray):
        self.component, self.of = component, of
        self._none = of.dtype.type(np.iinfo(of.dtype).max)
        self._met = np.full_like(of, self._none)  # by component: the last label that it has met
        _label(component, numbers, of)

    def narrow(self, vertices: int) -> np.ndarray:
        """The labels in as few bytes as so many vertices allow: to travel."""
        return self.of.astype(np.uint32) if vertices <= 1 << 32 else self.of

    def meet(self, vertices: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Pairs, as two rows: the label here and the label elsewhere of the same vertices. Most duplicates are left
        out."""
        pairs = np.empty((2, len(vertices)), self.of.dtype)
        return pairs[:, : int(_meet(self.component, self.of, vertices, others, self._met, pairs))].copy()

    def lower(self, known: np.ndarray, lowest: np.ndarray, n: int) -> None:
        """Replace labels `known` (ascending) by `lowest`, for the first n vertices, among which every component has
        one."""
        changed = known != lowest
        if changed.any():
            _lower(self.component, self._met, self._none, known[changed], lowest[changed], self.of[:n])


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
    """The first vertex of a component finds its label; the others take that."""
    for v in range(uint64(component.size)):
        c = uint64(component[v])
        labels[c] = numbers[v] if c == v else min(labels[c], numbers[v])
    for v in range(uint64(component.size)):
        labels[v] = labels[uint64(component[v])]


@kernel
def _meet(component, labels, vertices, others, met, pairs):
    count = uint64(0)
    for i in range(uint64(vertices.size)):
        v = uint64(vertices[i])
        c = uint64(component[v])
        if met[c] != others[i]:
            met[c] = pairs[1, count] = others[i]
            pairs[0, count] = labels[v]
            count += ONE
    return count


@kernel
def _join(some, others, above):
    for i in range(uint64(some.size)):
        link(some[i], others[i], above)
    flatten(0, above.size, above)


@kernel
def _lower(component, met, none, known, lowest, labels):
    """The first vertex of a component that has met others looks its new label up; the others take that."""
    for v in range(uint64(labels.size)):
        c, label = uint64(component[v]), labels[v]
        if c == v and met[v] != none:
            low, high = uint64(0), uint64(known.size)
            while low < high:
                middle = (low + high) >> ONE
                if known[middle] < label:
                    low = middle + ONE
                else:
                    high = middle
            if low < uint64(known.size) and known[low] == label:
                labels[v] = lowest[low]
        elif c != v:
            labels[v] = labels[c]
