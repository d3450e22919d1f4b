"""Names for communities that go on from an earlier division: each keeps the label of the old one that it is mostly made
of."""

from __future__ import annotations

import numpy as np


def kept_names(communities: np.ndarray, earlier: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The name of each community, a vertex.

    `communities` numbers the communities of all vertices without gaps. `earlier` are the numbers of their earlier ones,
    below 0 for none, and `labels` the vertices that those were named by, below 0 if that vertex is gone. A community
    keeps the label of the earlier one with which it shares most vertices (of several, the smallest label), if no other
    shares more of it. Every other takes the smallest of its vertices that does not name another.
    """
    count = int(communities.max()) + 1 if len(communities) else 0
    names = np.full(count, -1, np.int64)
    known = earlier >= 0
    known[known] = labels[earlier[known]] >= 0
    pairs, shared = np.unique(np.stack([communities[known], labels[earlier[known]]]), axis=1, return_counts=True)
    community, label = pairs
    best = np.lexsort((label, -shared, community))
    best = best[_firsts(community[best])]  # for each community, the label of which it has most
    best = best[np.lexsort((community[best], -shared[best], label[best]))]
    best = best[_firsts(label[best])]  # for each label, the community that has most of it
    names[community[best]] = label[best]
    taken = {*label[best].tolist()}
    waiting = np.flatnonzero(names < 0)
    if not len(waiting):
        return names
    order = np.argsort(communities, kind="stable")
    bounds = np.searchsorted(communities[order], np.arange(count + 1))
    spare = iter(range(len(communities)))
    for one in waiting.tolist():
        own = order[bounds[one] : bounds[one + 1]].tolist()
        free = next((vertex for vertex in own if vertex not in taken), None)
        if free is None:  # all of its vertices name others
            free = next(vertex for vertex in spare if vertex not in taken)
        names[one] = free
        taken.add(free)
    return names


def _firsts(ordered: np.ndarray) -> np.ndarray:
    """The positions at which a value appears first."""
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else np.zeros(0, np.int64)
