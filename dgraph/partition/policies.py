"""Which partition owns a vertex, and which holds an edge.

Every policy is two choices: the masters (a contiguous range of numbers for each partition, or any table), and one rule
that places an edge by the owners of its ends. The proxies that follow from the rule tell an engine what it may leave
out: no vertex needs a broadcast under `outgoing`, none a reduce under `incoming`.

Outgoing and incoming edge cuts, Cartesian vertex cut: Gluon (Dathathri et al., PLDI 2018). Hybrid vertex cut: PowerLyra
(Chen et al., EuroSys 2015). METIS: `metis.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dgraph.errors import OptionError
from dgraph.phrases import format_option

NAMES = ("outgoing", "incoming", "cartesian", "hybrid", "metis")
OUTGOING, INCOMING, CARTESIAN, HYBRID, BY_USER = range(5)  # the `rule` of kernels.place; BY_USER has a table of its own
FEW_PARTS = 8  # up to here an edge cut exchanges less than a grid, whose fewer peers win beyond (Gluon, section 5)
HIGH_DEGREE = 100  # PowerLyra's threshold: a vertex with more in-edges is spread over its sources' partitions


class PartitionOptions(NamedTuple):
    """How a user asked for a graph to be partitioned; None is left to the graph."""

    policy: Any = "auto"
    parts: int | None = None
    capacities: Any = None


@dataclass(frozen=True)
class Policy:
    """A choice of masters and a rule for edges.

    `owners(ids, parts)` gives the partition of every vertex; without it partitions own ranges of about equal work.
    `edges(source, destination, parts)` gives the partition of every edge; without it `rule` decides.
    """

    name: str
    rule: int = OUTGOING
    owners: Callable[[Any, int], Any] | None = None
    edges: Callable[[Any, Any, int], Any] | None = None

    @property
    def by_range(self) -> bool:
        """Whether each partition owns a range of numbers."""
        return self.owners is None and self.name != "metis"

    @property
    def sends_from_masters(self) -> bool:
        """Whether each vertex has all its out-edges where it is owned."""
        return self.rule == OUTGOING and self.edges is None

    @property
    def needs_degrees(self) -> tuple[bool, bool]:
        """Whether out-degrees and in-degrees are needed, to balance ranges by edges or to tell hubs."""
        return self.rule in (OUTGOING, CARTESIAN, BY_USER), self.rule in (INCOMING, CARTESIAN, HYBRID)


def choose(policy: Any, parts: int) -> Policy:
    """The policy that a user named, or gave as a function."""
    if isinstance(policy, Policy):
        return policy
    if callable(policy):
        return _from_function(policy)
    if isinstance(policy, str) and policy == "auto":
        policy = "outgoing" if parts <= FEW_PARTS else "cartesian"
    if isinstance(policy, str) and policy in NAMES:
        return Policy(policy, OUTGOING if policy == "metis" else NAMES.index(policy))
    raise OptionError(
        f"{format_option('policy', policy)} is not known; choose one of {', '.join(NAMES)}, auto, or give a function"
    )


def _from_function(function: Callable[..., Any]) -> Policy:
    """`f(ids, parts)` places vertices, whose out-edges follow; `f(source, destination, parts)` places edges."""
    name = getattr(function, "__name__", "function")
    try:
        known = inspect.signature(function).parameters.values()
    except ValueError as cause:
        raise OptionError(f"policy={name}: what it takes cannot be told; wrap it in a function of yours") from cause
    parameters = [p for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    if len(parameters) == 2:
        return Policy(name, OUTGOING, owners=function)
    if len(parameters) == 3:
        return Policy(name, BY_USER, edges=function)
    raise OptionError(
        f"a policy function takes (ids, parts) to place vertices or (source, destination, parts) to place edges; "
        f"{name} takes {len(parameters)} arguments"
    )


def checked_places(found: Any, size: int, parts: int, what: str) -> np.ndarray:
    """What a user's function returned, as partition numbers."""
    places = np.asarray(found)
    if places.shape != (size,):
        raise OptionError(f"the policy function returned an array of shape {places.shape} for {size} {what}")
    if not np.issubdtype(places.dtype, np.integer):
        raise OptionError(f"the policy function returned {places.dtype} values; partitions are whole numbers")
    if size and (places.min() < 0 or places.max() >= parts):
        wrong = places[(places < 0) | (places >= parts)][0]
        raise OptionError(f"the policy function placed one of the {what} on partition {wrong}; there are {parts}")
    return places.astype(np.uint16)


def split_evenly(work: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """Bounds of ranges whose work is in proportion to `shares`: d_j = D (1/c_j) / sum(1/c), GX-Plug's first lemma."""
    ends = np.cumsum(work, dtype=np.float64)
    total = ends[-1] if len(ends) else 0.0
    targets = np.cumsum(shares)[:-1] / np.sum(shares) * total
    cuts = np.searchsorted(ends, targets, side="left") + 1 if len(ends) else np.zeros(len(shares) - 1, np.int64)
    bounds = np.concatenate([[0], np.minimum(cuts, len(work)), [len(work)]]).astype(np.int64)
    return np.maximum.accumulate(bounds)


def grid_columns(parts: int) -> int:
    """The widest divisor up to the square root: partitions form a grid of parts / columns rows."""
    return max(c for c in range(1, int(parts**0.5) + 1) if parts % c == 0)
