"""Policies: which partition owns each vertex, and which holds each edge.

A policy makes two choices: the masters (a contiguous range of numbers for each partition, or any table of owners), and
a rule that places an edge by the owners of its ends. The resulting proxies tell an engine what it can skip: no vertex
needs a broadcast under `outgoing`, and none needs a reduce under `incoming`.

Outgoing and incoming edge cuts, Cartesian vertex cut: Gluon (Dathathri et al., PLDI 2018). Hybrid vertex cut: PowerLyra
(Chen et al., EuroSys 2015). METIS: `placement.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from dgraph.arguments import check_integer, is_default, known_fields
from dgraph.errors import OptionError
from dgraph.phrases.phrases import format_option

RULES = OUTGOING, INCOMING, CARTESIAN, HYBRID = range(4)  # the `rule` of kernels.place
FEW_PARTS = 64  # with more partitions, a grid beats an edge cut because it has fewer proxies (Gluon, section 5)
VERY_MANY, VERY_MANY_EACH = 8, 4  # so many partitions, and of a worker, are joined while operations run
HIGH_DEGREE = 100  # PowerLyra's threshold: in-edges of a vertex with more of them are placed with their sources


class PartitionOptions(NamedTuple):
    """The user's options for partitioning; None leaves the choice to the graph."""

    policy: Any = "auto"
    parts: int | None = None
    capacities: Any = None


@known_fields
@dataclass(frozen=True)
class Policy:
    """A partitioning policy for the ``policy=`` of a graph: which partition owns a vertex, and which holds an edge.

    A policy's name or a plain function is enough in most cases; a `Policy` combines the two.

    Parameters
    ----------
    name : str
        The name shown in reports.
    rule : int, default 0
        Which partition holds an edge unless `edges` is given: 0 for the owner of its source (``"outgoing"``), 1 for the
        owner of its destination (``"incoming"``), 2 for the grid cell that both owners determine (``"cartesian"``), 3
        for the owner of its source if the destination has many in-edges, else that of its destination (``"hybrid"``).
    owners : callable or "metis", optional
        A function ``owners(ids, parts)`` that returns the partition of each vertex, or ``"metis"`` to let METIS choose;
        by default partitions own ranges of ids with about equal work.
    edges : callable, optional
        A function ``edges(source, destination, parts)`` that returns the partition of each edge.

    Raises
    ------
    OptionError
        If an option is not recognised. A value that is not allowed is refused when a graph is made with the policy.

    Examples
    --------
    >>> frame = pd.DataFrame({"src": [0, 1, 2, 3], "dst": [1, 2, 3, 0]})
    >>> by_parity = dg.Policy("parity", owners=lambda ids, parts: ids % parts)
    >>> dg.Graph.from_edges(frame, policy=by_parity, parts=2).partitions.report.frame["vertices"].tolist()
    [2, 2]
    """

    name: str
    rule: int = OUTGOING
    owners: Callable[[Any, int], Any] | Literal["metis"] | None = None
    edges: Callable[[Any, Any, int], Any] | None = None

    @property
    def by_range(self) -> bool:
        """Whether each partition owns a contiguous range of vertex numbers.

        Examples
        --------
        >>> dg.Policy("mine").by_range
        True
        """
        return self.owners is None

    @property
    def by_rule(self) -> bool:
        """Whether only ranges and a rule decide, without METIS or a function.

        Examples
        --------
        >>> dg.Policy("mine", owners="metis").by_rule
        False
        """
        return self.by_range and self.edges is None

    @property
    def sends_from_masters(self) -> bool:
        """Whether every out-edge is placed with the owner of its source.

        Examples
        --------
        >>> dg.Policy("mine", rule=0).sends_from_masters
        True
        """
        return self.rule == OUTGOING and self.edges is None

    @property
    def gathers_at_masters(self) -> bool:
        """Whether every in-edge is placed with the owner of its destination.

        Examples
        --------
        >>> dg.Policy("mine", rule=1).gathers_at_masters
        True
        """
        return self.rule == INCOMING and self.edges is None

    @property
    def finds_hubs(self) -> bool:
        """Whether the place of an edge depends on the in-degree of its destination.

        Examples
        --------
        >>> dg.Policy("mine", rule=3).finds_hubs
        True
        """
        return self.rule == HYBRID and self.edges is None

    @property
    def needs_degrees(self) -> tuple[bool, bool]:
        """Whether out-degrees and in-degrees are needed, to balance ranges by edges or to find hubs.

        Examples
        --------
        >>> dg.Policy("mine", rule=2).needs_degrees
        (True, True)
        """
        if not self.by_range or self.edges is not None:
            return self.by_range, self.finds_hubs
        return self.rule in (OUTGOING, CARTESIAN), self.rule in (INCOMING, CARTESIAN, HYBRID)


POLICIES = {
    policy.name: policy
    for policy in (
        Policy("outgoing", OUTGOING),
        Policy("incoming", INCOMING),
        Policy("cartesian", CARTESIAN),
        Policy("hybrid", HYBRID),
        Policy("metis", OUTGOING, owners="metis"),
    )
}
POLICY_NAMES = tuple(POLICIES)


def choose_policy(policy: Any, parts: int) -> Policy:
    """The policy for the user's name, function or Policy."""
    if isinstance(policy, Policy):
        return _checked(policy)
    if callable(policy):
        return _checked(_from_function(policy))
    if isinstance(policy, str) and policy == "auto":
        policy = "outgoing" if parts <= FEW_PARTS else "cartesian"
    if isinstance(policy, str) and policy in POLICY_NAMES:
        return POLICIES[policy]
    choices = f"{', '.join(POLICY_NAMES)}, auto, or pass a function"
    raise OptionError(f"{format_option('policy', policy)} is not known; choose one of {choices}")


def in_fewer_parts(asked: PartitionOptions, workers: int) -> PartitionOptions | None:
    """How a graph is divided while operations run on so many workers: one partition for each, if the user asked for
    very many. None if not, or if METIS, a function or a list of capacities says what each partition has."""
    if asked.parts is None or asked.parts < max(VERY_MANY, VERY_MANY_EACH * workers):
        return None
    if workers == 1:
        return PartitionOptions(parts=1)
    policy = choose_policy(asked.policy, asked.parts)
    if not policy.by_rule or not isinstance(asked.capacities, str | Mapping | None):
        return None
    return asked._replace(parts=workers, policy="auto" if policy.rule == CARTESIAN else asked.policy)


def still_suits(parts: int, workers: int) -> bool:
    """Whether partitions made for other workers suit so many. New ones are worth their time if many workers are idle,
    or if some have more than others."""
    return workers / 2 < parts <= VERY_MANY_EACH * workers and (parts <= workers or parts % workers == 0)


def unless_auto(chosen: str, parts: int) -> str:
    """What policy="auto" takes in place of a chosen policy, and why; "" if it takes the same one."""
    auto = choose_policy("auto", parts).name
    if auto == chosen:
        return ""
    few = f"up to {FEW_PARTS} partitions, because it never broadcasts to proxies"
    many = f"beyond {FEW_PARTS} partitions, because each exchanges messages only with its row and column"
    return f' (policy="auto" takes {auto} {few if auto == "outgoing" else many})'


def saved_policy(name: str) -> Policy:
    """The policy of a saved graph. Functions are not saved, so a user's policy cannot place anything after loading."""
    return POLICIES.get(name) or Policy(name, edges=partial(_not_saved, name))


def is_saved_function(policy: Any) -> bool:
    """Whether a policy stands for a user's function that was not saved with a graph."""
    return isinstance(policy, Policy) and getattr(policy.edges, "func", None) is _not_saved


def _not_saved(name: str, *given: Any) -> Any:
    remedy = "pass policy= to open_graph, which partitions the graph again"
    raise OptionError(f"the graph was partitioned by a function, {name}, which is not saved with it; {remedy}")


def _checked(policy: Policy) -> Policy:
    """Check a user's policy. Its name must not be taken by another, since reports and saved graphs refer to it."""
    name, owners, edges = policy.name, policy.owners, policy.edges
    if not isinstance(name, str):
        raise OptionError(f"{format_option('name', name)} of a policy must be a string")
    check_integer("rule", policy.rule, RULES[0], RULES[-1])
    if not (owners is None or callable(owners) or is_default(owners, "metis")):
        raise OptionError(f'{format_option("owners", owners)} must be a function of (ids, parts) or "metis"')
    if not (edges is None or callable(edges)):
        raise OptionError(f"{format_option('edges', edges)} must be a function of (source, destination, parts)")
    if name == "auto" or POLICIES.get(name, policy) != policy:
        raise OptionError(f"dgraph has a policy called {name!r} already; give yours another name")
    return policy


def _from_function(function: Callable[..., Any]) -> Policy:
    """A policy from `f(ids, parts)`, which places vertices with their out-edges, or from
    `f(source, destination, parts)`, which places edges."""
    name = getattr(function, "__name__", "function")
    try:
        signature = inspect.signature(function).parameters.values()
    except ValueError as cause:
        raise OptionError(f"policy={name}: its parameters cannot be inspected; wrap it in a Python function") from cause
    required = [p for p in signature if p.default is p.empty]
    count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in required)
    if count == 2:
        return Policy(name, OUTGOING, owners=function)
    if count == 3:
        return Policy(name, edges=function)
    expected = "(ids, parts) to place vertices, or (source, destination, parts) to place edges"
    raise OptionError(f"a policy function must take {expected}; {name} takes {count} arguments")


def checked_places(returned: Any, size: int, parts: int, what: str) -> np.ndarray:
    """What the user's function returned, as partition numbers."""
    places = np.asarray(returned)
    if places.shape != (size,):
        raise OptionError(f"the policy function returned an array of shape {places.shape} for {size} {what}")
    if not np.issubdtype(places.dtype, np.integer):
        raise OptionError(f"the policy function returned {places.dtype} values; partitions must be whole numbers")
    if size and (places.min() < 0 or places.max() >= parts):
        wrong = places[(places < 0) | (places >= parts)][0]
        problem = f"the policy function placed some {what} on partition {wrong}"
        raise OptionError(f"{problem}; there are {parts}, numbered from 0")
    return places.astype(np.uint16)


def split_evenly(work: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """Bounds of ranges with work in proportion to `shares`: d_j = D (1/c_j) / sum(1/c), GX-Plug's first lemma."""
    ends = np.cumsum(work, dtype=np.float64)
    total = ends[-1] if len(ends) else 0.0
    targets = np.cumsum(shares)[:-1] / np.sum(shares) * total
    cuts = np.searchsorted(ends, targets, side="left") + 1 if len(ends) else np.zeros(len(shares) - 1, np.int64)
    bounds = np.concatenate([[0], np.minimum(cuts, len(work)), [len(work)]]).astype(np.int64)
    return np.maximum.accumulate(bounds)


def grid_columns(parts: int) -> int:
    """The largest divisor up to the square root: partitions form a grid of parts / columns rows."""
    return max(c for c in range(1, int(parts**0.5) + 1) if parts % c == 0)
