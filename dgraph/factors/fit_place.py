"""The ratings of some users and items, with which one partition, or one worker, fits factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import uint64

from dgraph.errors import OptionError, WeightError
from dgraph.factors.rating_rows import RatingColumns, RatingRows
from dgraph.factors.rating_test import RatingTest
from dgraph.native.team import ONE, kernel
from dgraph.solvers.compiled_draws import uniform, word_of_round

LARGEST = 1e100  # largest rating for which sums of squared errors stay finite
FACTORS, RANKED = 2, 3  # what is drawn, as rounds of the generator
NOTHING = np.empty((0, 0))
TWO = uint64(2)


@dataclass
class FitPlace:
    """Ratings by local id. What `rows` has belongs to vertices that this place owns, which are the first; `known` and
    `held` have each rating at the place of its user."""

    numbers: np.ndarray  # of all vertices here
    owned: int
    known: RatingColumns
    held: RatingColumns
    rows: RatingRows
    here: tuple[np.ndarray, np.ndarray]  # users and items, owned or not
    post: Any = None  # the `ProxyMail` of a partition that shares vertices with others
    factors: np.ndarray = field(default_factory=lambda: NOTHING)

    @classmethod
    def of(
        cls,
        numbers: np.ndarray,
        owned: int,
        ratings: RatingColumns,
        marks: np.ndarray | None,
        test: RatingTest,
        *,
        is_feedback: bool = False,
    ) -> FitPlace:
        """From all ratings in which a vertex that is owned here takes part."""
        here = np.unique(ratings.users), np.unique(ratings.items)
        _check(ratings, here, is_feedback=is_feedback)
        order = np.lexsort((ratings.values, numbers[ratings.items], numbers[ratings.users]))
        ratings = ratings.chosen(order)  # an order that does not depend on the partitions
        marks = None if marks is None else test.flags(marks[order])
        del order
        if is_feedback:
            ratings, marks = _added_up(ratings, marks)
        held = test.held(ratings, numbers, marks)
        of_users, of_items = ratings.users < owned, ratings.items < owned
        known, tested = ratings.chosen(of_users & ~held), ratings.chosen(of_users & held)
        alone = of_users.all() and of_items.all()
        rows = RatingRows.of(known, known if alone else ratings.chosen(of_items & ~held), len(numbers))
        return cls(numbers, owned, known, tested, rows, here)

    def gram(self, side: int) -> np.ndarray:
        """The sum of the outer products of the factors of the users (side 0) or items (side 1) that belong here."""
        found = self.factors[self.rows.sides[side].vertices]
        return found.T @ found

    def mask_of(self, sides: Sequence[int]) -> np.ndarray | None:
        """Which vertices are users (side 0) or items (side 1); None for both."""
        if len(sides) == 2:
            return None
        found = np.zeros(len(self.numbers), bool)
        found[self.here[sides[0]]] = True
        return found

    def drawn(self, random_seed: int, rank: int, deviation: float) -> np.ndarray:
        """Normal numbers for each vertex that has ratings here or elsewhere, the same wherever it is."""
        found = np.empty((len(self.numbers), rank))
        _draw_factors(random_seed, self.numbers, deviation, found)
        found[: self.owned][np.diff(self.rows.indptr)[: self.owned] == 0] = 0.0
        return found


def _check(ratings: RatingColumns, here: tuple[np.ndarray, np.ndarray], *, is_feedback: bool) -> None:
    """Reject ratings that are not finite or too large, negative feedback, and graphs that are not bipartite."""
    values = ratings.values
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise WeightError(
            f"{len(bad)} of {len(values)} ratings are not finite; the first is {values[bad[0]]}: drop or fill them"
        )
    large = np.flatnonzero(np.abs(values) > LARGEST)
    if len(large):
        raise WeightError(
            f"{len(large)} of {len(values)} ratings are beyond {LARGEST:g}; the first is {values[large[0]]:g}: drop or "
            "scale them, because squared errors must be finite"
        )
    least = values.min(initial=1.0)
    if is_feedback and least <= 0:
        raise WeightError(
            f"{np.count_nonzero(values <= 0)} of {len(values)} weights are 0 or less, for example {least:g}: implicit "
            "feedback counts how often something happened; drop such edges, or leave out implicit_alpha="
        )
    both = np.intersect1d(*here, assume_unique=True)
    if len(both):
        who = "1 vertex is" if len(both) == 1 else f"{len(both)} vertices are"
        raise OptionError(f"{who} both a user and an item: every edge must lead from a user to an item")


def _added_up(ratings: RatingColumns, marks: np.ndarray | None) -> tuple[RatingColumns, np.ndarray | None]:
    """Each pair once, with the sum of its weights; it is marked if one of its edges is."""
    u, v, values = ratings
    first = np.flatnonzero(np.append(True, (u[1:] != u[:-1]) | (v[1:] != v[:-1]))[: len(u)])
    if len(first) == len(u):
        return ratings, marks
    merged = RatingColumns(u[first], v[first], np.add.reduceat(values, first))
    return merged, None if marks is None else np.maximum.reduceat(marks, first)


def drawn_for_vertices(random_seed: int, numbers: np.ndarray) -> np.ndarray:
    """A number in [0, 1) for each vertex, the same wherever it is."""
    found = np.empty(len(numbers))
    _draw_vertices(random_seed, numbers, found)
    return found


@kernel
def _draw_vertices(random_seed, numbers, out):
    word = word_of_round(random_seed, RANKED)
    for i in range(uint64(out.size)):
        out[i] = uniform(word, numbers[i], uint64(0))


@kernel
def _draw_factors(random_seed, numbers, deviation, out):
    """Normal numbers, each made of two uniform ones (Box and Muller)."""
    word = word_of_round(random_seed, FACTORS)
    for i in range(uint64(len(out))):
        for c in range(uint64(out.shape[1])):
            length = np.sqrt(-2.0 * np.log(1.0 - uniform(word, numbers[i], TWO * c)))
            out[i, c] = deviation * length * np.cos(2.0 * np.pi * uniform(word, numbers[i], TWO * c + ONE))
