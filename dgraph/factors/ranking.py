"""How well factors rank what was held out: recall, precision and NDCG of the first items of some users.

Each worker ranks its own items, and tells how many of them come before each item that was held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dgraph.factors.best_items import best_items
from dgraph.factors.fit_place import FitPlace, drawn_for_vertices
from dgraph.factors.rating_fit import Facts

AT = 20  # items of each user that count
SAMPLE = 1000  # users who are looked at after each epoch
SPARE = 5  # items that are listed beyond these, because they are chosen in 32 bits
BLOCK = 64  # users whose items are compared together


@dataclass(frozen=True)
class RankedItems:
    """The items that a place owns, in the order of their numbers, and its part of what was held out. `users` are places
    in the list of users; all others are local ids."""

    items: np.ndarray
    bounds: np.ndarray  # by user, where the items begin and end that it is known to like, which are not ranked
    known: np.ndarray  # these items, by their places in `items`
    held: np.ndarray  # which of all pairs that were held out are of users whom this place owns
    ends: tuple[np.ndarray, np.ndarray]  # user and item of each of these pairs

    @classmethod
    def of(cls, place: FitPlace, users: np.ndarray, pairs: np.ndarray) -> RankedItems:
        here, numbers = place.here[1][place.here[1] < place.owned], place.numbers
        items = here[np.argsort(numbers[here])]
        places = np.full(len(numbers), -1)
        places[items] = np.arange(len(items))
        liked = np.repeat(places, np.diff(place.rows.indptr))
        who = numbers[place.rows.others]
        among = (liked >= 0) & np.isin(who, users)
        who, liked = np.searchsorted(users, who[among]), liked[among]
        order = np.lexsort((liked, who))
        bounds = np.stack([np.searchsorted(who[order], np.arange(len(users)), side) for side in ("left", "right")], 1)
        chosen = place.held.chosen(np.isin(numbers[place.held.users], users))
        found = _keys(np.searchsorted(users, numbers[chosen.users]), numbers[chosen.items])
        held = np.searchsorted(_keys(*pairs), found)
        return cls(items, bounds.astype(np.int64), liked[order], held, (chosen.users, chosen.items))

    def ahead(
        self,
        left: np.ndarray,
        place: FitPlace,
        factors: np.ndarray,
        pairs: np.ndarray,
        scores: np.ndarray,
        threads: int,
    ) -> np.ndarray:
        """How many items of this place come before the item of each pair, or at least `AT` if there are more. Of items
        with the same score, the smaller number comes first."""
        right, numbers = factors[self.items], place.numbers[self.items]
        best, found = best_items(left, right, np.zeros(len(right)), self.bounds, self.known, AT + SPARE, threads)
        ahead = np.zeros(pairs.shape[1], np.int64)
        cuts = np.searchsorted(pairs[0], np.arange(0, len(left) + BLOCK, BLOCK))
        for begin, (first, last) in zip(range(0, len(left), BLOCK), pairwise(cuts), strict=True):
            some = slice(begin, begin + BLOCK)
            theirs = products(left[some, None], right[best[some]])
            theirs[np.arange(best.shape[1]) >= found[some, None]] = -np.inf
            user, item, score = pairs[0, first:last] - begin, pairs[1, first:last, None], scores[first:last, None]
            others = numbers[best[some]][user]
            before = (theirs[user] > score) | ((theirs[user] == score) & (others < item))
            ahead[first:last] = (before & (others != item)).sum(1)
        return ahead


def products(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Inner products, added up in one order whatever the shapes are, so that equal factors have equal ones."""
    total = np.zeros(np.broadcast_shapes(one.shape, other.shape)[:-1])
    for c in range(one.shape[-1]):
        total += one[..., c] * other[..., c]
    return total


class RankingTest:
    """At most 1,000 users, and the pairs of these that were held out: by their places among the users, and the numbers
    of items, the same on all workers."""

    def __init__(self, places: Sequence[FitPlace], threads: int):
        self.places, self.threads = places, threads

    def begin(self, random_seed: int, worker: int, workers: int) -> Facts:
        """Choose the users, and tell all workers what was held out of theirs."""
        own = np.concatenate([np.unique(place.numbers[place.held.users]) for place in self.places]).astype(np.int64)
        draws = drawn_for_vertices(random_seed, own)
        first = np.argsort(draws)[:SAMPLE]
        table = np.zeros((workers, 2, SAMPLE))
        table[worker, 0] = np.inf
        table[worker, :, : len(first)] = draws[first], own[first]
        sums = yield {"users": table}
        draws, chosen = sums["users"].transpose(1, 0, 2).reshape(2, -1)
        first = np.lexsort((chosen, draws))[:SAMPLE]
        self.users = np.sort(chosen[first][np.isfinite(draws[first])].astype(np.int64))
        mine = np.concatenate([self._held(place) for place in self.places], axis=1)
        counts = np.zeros(workers, np.int64)
        counts[worker] = mine.shape[1]
        sums = yield {"counts": counts}
        pairs, begin = np.zeros((2, sums["counts"].sum()), np.int64), sums["counts"][:worker].sum()
        pairs[:, begin : begin + mine.shape[1]] = mine
        sums = yield {"pairs": pairs}
        self.pairs = np.unique(sums["pairs"], axis=1)
        self.items = [RankedItems.of(place, self.users, self.pairs) for place in self.places]
        self.counts = np.bincount(self.pairs[0], minlength=len(self.users))

    def _held(self, place: FitPlace) -> np.ndarray:
        users, items = place.numbers[place.held.users], place.numbers[place.held.items]
        chosen = np.isin(users, self.users)
        return np.stack([np.searchsorted(self.users, users[chosen]), items[chosen].astype(np.int64)])

    def measures(self, factors: Sequence[np.ndarray]) -> Facts:
        """The means over users; nothing where nothing was held out."""
        if not len(self.users):
            return {}
        left, scores = np.zeros((len(self.users), factors[0].shape[1])), np.zeros(self.pairs.shape[1])
        for one, mine in zip(self.items, factors, strict=True):
            users, items = one.ends
            left[self.pairs[0, one.held]] = mine[users]
            scores[one.held] = products(mine[users], mine[items])
        sums = yield {"left": left, "scores": scores}
        ahead = np.zeros(self.pairs.shape[1], np.int64)
        for one, place, mine in zip(self.items, self.places, factors, strict=True):
            ahead += one.ahead(sums["left"], place, mine, self.pairs, sums["scores"], self.threads)
        sums = yield {"ahead": ahead}
        hits, gains = sums["ahead"] < AT, 1 / np.log2(np.arange(AT) + 2)
        of_users = np.bincount(self.pairs[0], hits, minlength=len(self.users))
        gained = np.bincount(self.pairs[0], np.where(hits, gains[np.minimum(sums["ahead"], AT - 1)], 0.0))
        ideal = np.cumsum(gains)[np.minimum(self.counts, AT) - 1]
        return {
            f"recall@{AT}": float(np.mean(of_users / self.counts)),
            f"precision@{AT}": float(np.mean(of_users / AT)),
            "ndcg": float(np.mean(gained / ideal)),
        }


def _keys(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Pairs as numbers in the same order: there are fewer than 2^10 users, and 2^53 items."""
    return users.astype(np.int64) << 53 | items.astype(np.int64)
