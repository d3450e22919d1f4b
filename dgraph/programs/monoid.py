"""How messages for one vertex combine on the way: a merge is a value with laws (`laws.py` checks them).

A *Monoid* may merge in any order and grouping, so partial results can be merged where they arise, on any device.
A *Neighbourhood* merge needs all messages of a vertex in one place: it runs where a vertex's in-edges are together.
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
UNREACHED = 2**63 - 1  # "no distance yet" in whole numbers: no message under MIN, as inf is among floats


@dataclass(frozen=True)
class Monoid:
    """An associative, commutative `merge` with an identity. A message equal to the identity is no message."""

    name: str
    merge: Callable[[Any, Any], Any]
    identity_of: Callable[[np.dtype], Any]
    idempotent: bool = False  # merging a value twice is merging it once: an inbox never needs clearing
    atomic: str | None = None  # the device instruction that merges into shared memory; None: compare and swap
    combines = True

    def identity(self, dtype: Any) -> Any:
        """What changes nothing when merged, as a Python scalar."""
        if np.dtype(dtype).kind == "b" and self in (SUM, PRODUCT):
            raise ProgramError(f"a bool holds no {self}: say Message(int, {self}), or Global(int, {self})")
        if np.dtype(dtype).kind != "b" and self in (AND, OR):
            raise ProgramError(f"{self} is of bools, not of {np.dtype(dtype)}: say Message(bool, {self}), or the like")
        try:
            return np.dtype(dtype).type(self.identity_of(np.dtype(dtype))).item()
        except (TypeError, ValueError, OverflowError) as error:
            problem = (
                f"{self} has no identity of {np.dtype(dtype)} ({error}): identity_of takes a dtype, and returns one"
            )
            raise ProgramError(problem) from error

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self):
        return (_named, (self.name,)) if _BY_NAME.get(self.name) is self else super().__reduce__()


@dataclass(frozen=True)
class Neighbourhood:
    """A merge of all messages of a vertex at once, in whatever order they come.

    `meaning(values, key)` says what it gives for a list of one message or more; `key` is a random word that depends
    on (seed, round, vertex). One that weighs messages is `meaning(values, key, weights)` and gives two values, for the
    two fields of the phase's message. The kernels have their own, faster text for it, which
    `codegen/neighbourhood_merges.py` writes.
    """

    name: str
    meaning: Callable[..., Any]
    fields: int = 1  # of the message: the value, and what it weighs
    combines = False
    idempotent = False
    atomic = None

    def identity(self, dtype: Any) -> Any:
        """NONE: no message."""
        return np.dtype(dtype).type(NONE).item()

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self):
        return _named, (self.name,)


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
    """The value that occurs most often, the smallest of several."""
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value))


def heaviest(values: Sequence[Any], key: int, weights: Sequence[Any]) -> tuple[Any, Any]:
    """The value whose weights, none below zero, add up to most, the smallest of several; and that sum."""
    sums: Counter = Counter()
    for value, weight in zip(values, weights, strict=True):
        sums[value] += weight
    return min(sums.items(), key=lambda item: (-item[1], item[0]))


def choose(values: Sequence[Any], key: int) -> Any:
    """One of the different values at random; which one depends on the values and the key, not on their order."""
    return min(values, key=lambda value: (mix(key ^ (int(value) & 0xFFFF_FFFF_FFFF_FFFF)), value))


def h_index(values: Sequence[Any], key: int) -> Any:
    """The largest h such that h of the values are at least h."""
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


def _named(name: str) -> Merge:
    return _BY_NAME[name]
