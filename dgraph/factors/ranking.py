"""How well factors rank what was held out: recall, precision and NDCG of the first items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.factors.best_items import best_items
from dgraph.factors.rating_rows import RatingColumns

AT = 20  # items of each user that count
SAMPLE = 1000  # users who are looked at after each epoch


@dataclass(frozen=True)
class RankingTest:
    """Users, what they are known to like, which is not ranked, and what of theirs was held out; items by their places
    in `items`."""

    users: np.ndarray
    items: np.ndarray
    bounds: np.ndarray  # by user, where the known items begin and end
    known: np.ndarray
    held: np.ndarray  # sorted: user's place times the number of items, plus the item's place
    counts: np.ndarray  # by user, how many were held out

    @classmethod
    def of(cls, known: RatingColumns, held: RatingColumns, draw: np.random.Generator) -> RankingTest:
        users, items = np.unique(held.users), np.unique(np.concatenate([known.items, held.items]))
        if len(users) > SAMPLE:
            users = np.sort(draw.choice(users, SAMPLE, replace=False))
        order = np.lexsort((known.items, known.users))
        mine, theirs = known.users[order], np.searchsorted(items, known.items[order])
        bounds = np.stack([np.searchsorted(mine, users, side) for side in ("left", "right")], axis=1).astype(np.int64)
        chosen = np.isin(held.users, users)
        places = np.searchsorted(users, held.users[chosen]), np.searchsorted(items, held.items[chosen])
        pairs = np.unique(places[0] * len(items) + places[1])
        counts = np.bincount(pairs // max(len(items), 1), minlength=len(users))
        return cls(users, items, bounds, theirs.astype(np.int64), pairs, counts)

    def measures(self, factors: np.ndarray, threads: int) -> dict[str, float]:
        """The means over users; nothing where nothing was held out."""
        if not len(self.users):
            return {}
        left, right = factors[self.users], factors[self.items]
        best, found = best_items(left, right, np.zeros(len(right)), self.bounds, self.known, AT, threads)
        keys = np.arange(len(self.users))[:, None] * len(self.items) + best
        hits = np.isin(keys, self.held) & (np.arange(best.shape[1]) < found[:, None])
        gains = 1 / np.log2(np.arange(AT) + 2)
        ideal = np.cumsum(gains)[np.minimum(self.counts, AT) - 1]
        return {
            f"recall@{AT}": float(np.mean(hits.sum(1) / self.counts)),
            f"precision@{AT}": float(np.mean(hits.sum(1) / AT)),
            "ndcg": float(np.mean((hits * gains[: best.shape[1]]).sum(1) / ideal)),
        }
