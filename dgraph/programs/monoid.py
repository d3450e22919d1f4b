"""Merges, which combine messages to one vertex on the way. `laws.py` checks the laws of a merge.

A *Monoid* may merge in any order and grouping, so messages merge where they are sent, on any device. A *Neighbourhood*
needs all messages to a vertex in one place, so all in-edges of a vertex must be in one partition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.errors import ProgramError
from dgraph.programs.random_draws import mix

NONE = -1  # "no vertex": vertex numbers are never negative
UNREACHED = 2**63 - 1  # "no distance yet" for integers; under MIN it means no message, like inf for floats


@dataclass(frozen=True)
class Monoid:
    """An associative and commutative merge of messages, with an identity.

    Predefined are `MIN`, `MAX`, `SUM`, `PRODUCT`, `AND` and `OR`. A message equal to the identity is not sent.

    Parameters
    ----------
    name : str
        The name in kernels and errors: an identifier.
    merge : callable
        A plain function of two values that returns the merged value.
    identity_of : callable
        A function from a dtype to the value that changes nothing when merged.
    idempotent : bool, default False
        Whether merging a value twice has the effect of merging it once.
    atomic : str, optional
        The device instruction that merges into shared memory; compare and swap by default.

    Examples
    --------
    >>> def closer(a, b):
    ...     return a if abs(a) < abs(b) or (abs(a) == abs(b) and a < b) else b
    >>> CLOSEST = dg.Monoid("CLOSEST", closer, lambda dtype: 10**9, idempotent=True)
    >>> CLOSEST.merge(-3, 5), CLOSEST.identity(np.int64)
    (-3, 1000000000)
    """

    name: str
    merge: Callable[[Any, Any], Any]
    identity_of: Callable[[np.dtype], Any]
    idempotent: bool = False  # if true, an inbox never needs clearing
    atomic: str | None = None
    combines = True

    def identity(self, dtype: Any) -> Any:
        """The value of a dtype that changes nothing when merged, as a Python scalar.

        Parameters
        ----------
        dtype : dtype
            The dtype of the values.

        Returns
        -------
        bool, int or float

        Raises
        ------
        ProgramError
            If the merge has no identity for this dtype.

        Examples
        --------
        >>> dg.MIN.identity("float64"), dg.SUM.identity("int64")
        (inf, 0)
        """
        if np.dtype(dtype).kind == "b" and self in (SUM, PRODUCT):
            raise ProgramError(f"{self} needs numbers, not bool: write Message(int, {self}) or Global(int, {self})")
        if np.dtype(dtype).kind != "b" and self in (AND, OR):
            raise ProgramError(
                f"{self} needs bool, not {np.dtype(dtype)}: write Message(bool, {self}) or Global(bool, {self})"
            )
        if np.dtype(dtype) == np.uint8 and self is PRODUCT:
            raise ProgramError("a product of uint8 would wrap around at 256: declare an int")
        try:
            return np.dtype(dtype).type(self.identity_of(np.dtype(dtype))).item()
        except (TypeError, ValueError, OverflowError) as error:
            problem = f"{self} has no identity for {np.dtype(dtype)} ({error})"
            raise ProgramError(f"{problem}: identity_of must return one for this dtype") from error

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self):
        return (_by_name, (self.name,)) if _BY_NAME.get(self.name) is self else super().__reduce__()


@dataclass(frozen=True)
class Neighbourhood:
    """A merge of all messages to a vertex at once, in any order.

    `meaning(values, key)` returns the merge of one or more messages; `key` is a random word that depends on (seed,
    round, vertex). A merge of weighted messages has `meaning(values, key, weights)`, which returns two values, for the
    two fields of the message. Kernels use a faster version, in `codegen/neighbourhood_merges.py`.
    """

    name: str
    meaning: Callable[..., Any]
    fields: int = 1  # the number of fields of a message: a value, or a value and its weight
    combines = False
    idempotent = False
    atomic = None

    def identity(self, dtype: Any) -> Any:
        """`NONE`, which means no message."""
        if np.dtype(dtype).kind == "u":
            raise ProgramError(f"{self} merges signed integers, not {np.dtype(dtype)}: declare an int")
        return np.dtype(dtype).type(NONE).item()

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self):
        return _by_name, (self.name,)


Merge = Monoid | Neighbourhood


def _lowest(dtype: np.dtype) -> Any:
    if dtype.kind == "f":
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def _highest(dtype: np.dtype) -> Any:
    if dtype.kind == "f":
        return np.inf
    return True if dtype.kind == "b" else np.iinfo(dtype).max


def _min(a, b):
    return b if b < a else a


def _max(a, b):
    return b if b > a else a


def _sum(a, b):
    return a + b


def _product(a, b):
    return a * b


def _and(a, b):
    return a and b


def _or(a, b):
    return a or b


def most_frequent(values: Sequence[Any], key: int) -> Any:
    """The most frequent value; among ties, the smallest."""
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value))


def heaviest(values: Sequence[Any], key: int, weights: Sequence[Any]) -> tuple[Any, Any]:
    """The value with the largest sum of weights (among ties, the smallest), and that sum. Weights are >= 0."""
    sums: Counter = Counter()
    for value, weight in zip(values, weights, strict=True):
        sums[value] += weight
    return min(sums.items(), key=lambda item: (-item[1], item[0]))


def choose(values: Sequence[Any], key: int) -> Any:
    """One of the distinct values, at random. The choice depends on the values and the key, but not on their order."""
    return min(values, key=lambda value: (mix(key ^ (int(value) & 0xFFFF_FFFF_FFFF_FFFF)), value))


def h_index(values: Sequence[Any], key: int) -> Any:
    """The largest h such that h of the values are >= h."""
    return max(h for h in range(len(values) + 1) if sum(value >= h for value in values) >= h)


MIN = Monoid("MIN", _min, _highest, idempotent=True, atomic="min")
MAX = Monoid("MAX", _max, _lowest, idempotent=True, atomic="max")
SUM = Monoid("SUM", _sum, lambda dtype: 0, atomic="add")
PRODUCT = Monoid("PRODUCT", _product, lambda dtype: 1)
AND = Monoid("AND", _and, lambda dtype: True, idempotent=True, atomic="and")
OR = Monoid("OR", _or, lambda dtype: False, idempotent=True, atomic="or")

MOST_FREQUENT = Neighbourhood("MOST_FREQUENT", most_frequent)
HEAVIEST = Neighbourhood("HEAVIEST", heaviest, fields=2)
CHOOSE = Neighbourhood("CHOOSE", choose)
H_INDEX = Neighbourhood("H_INDEX", h_index)

MONOIDS = (MIN, MAX, SUM, PRODUCT, AND, OR)
NEIGHBOURHOODS = (MOST_FREQUENT, HEAVIEST, CHOOSE, H_INDEX)
_BY_NAME: dict[str, Merge] = {merge.name: merge for merge in (*MONOIDS, *NEIGHBOURHOODS)}


def _by_name(name: str) -> Merge:
    return _BY_NAME[name]
