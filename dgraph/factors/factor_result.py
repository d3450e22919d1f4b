"""What `factorize` returns: a result that can predict ratings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.arguments import check_flag, check_integer, vertex_list
from dgraph.building.graph_frames import lazy_frame
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.building.vertex_pairs import NO_VERTEX, frame_of_pairs, numbered_pairs
from dgraph.cluster.retry import replicate, retry
from dgraph.cluster.workers import any_lost
from dgraph.errors import IdError, OptionError
from dgraph.factors.best_items import (
    ITEM,
    PREDICTION,
    ROWS,
    TASK,
    USER,
    FactorTable,
    KnownItems,
    Recommendation,
    predictions,
)
from dgraph.partition.ids.numbering import Numbering
from dgraph.phrases.phrases import format_count
from dgraph.runs.result import RunResult
from dgraph.runs.worker_results import WorkerResult

if TYPE_CHECKING:
    import dask.dataframe as dd

USUAL = 10  # how many are listed by default, or all if there are fewer
PAIRS = 1 << 20  # pairs whose ratings one task predicts
FIRST, SECOND, SIMILARITY = "first", "second", "similarity"


class FactorResult(RunResult, operation="factorize"):
    """The result of `dgraph.factorize`: a `RunResult` that also predicts ratings, recommends items, and finds similar
    users and items.

    Examples
    --------
    >>> G = dg.ratings(users=50, items=20, ratings=600, seed=1)
    >>> result = dg.factorize(G, rank=4)
    >>> result.recommend([0], k=3).compute().shape
    (3, 3)
    """

    def __init__(self, graph: PartitionedGraph, *held: Any, **how: Any):
        super().__init__(graph, *held, **how)
        self._ratings = graph  # which this keeps, because predictions need it
        self._known: tuple[Any, np.ndarray, np.ndarray] | None = None

    def predict(self, pairs: Any) -> dd.DataFrame:
        """Predict the ratings of pairs of a user and an item.

        Parameters
        ----------
        pairs : frame or dict
            Two columns of vertices, the first of users and the second of items, or the columns that the graph's edges
            have for their ends. A vertex without ratings to learn from has a bias of 0, and so has one that the graph
            does not have.

        Returns
        -------
        dask.dataframe.DataFrame
            A lazy frame with a row for each pair, in their order: ``user``, ``item``, ``prediction``.

        Raises
        ------
        ColumnError
            If `pairs` does not have two columns.
        IdError
            If the graph has none of the users, or none of the items.

        Examples
        --------
        >>> frame = {"user": ["ann", "ann", "bob"], "item": ["x", "y", "x"], "rating": [5.0, 3.0, 4.0]}
        >>> G = dg.Graph.from_edges(frame, source="user", destination="item", weight="rating")
        >>> dg.factorize(G, rank=1, test=0).predict({"user": ["bob"], "item": ["y"]}).compute().round(1)
          user item  prediction
        0  bob    y         3.9
        """
        edges = self._ratings.input_edges.edges
        frame = frame_of_pairs(pairs, (edges.source, edges.destination))
        numbers = numbered_pairs(self._ratings, frame)
        for name, found in zip(frame.columns, numbers, strict=True):
            if len(found) and (found == NO_VERTEX).all():
                raise IdError(
                    f"pairs=: the graph has none of the vertices in column {name!r}, for example "
                    f"{frame[name].tolist()[0]!r}; check that its ids have the type of the graph's"
                )
        cuts = range(0, max(len(frame), 1), PAIRS)
        one, other = numbers
        pieces = [PairTable(frame.iloc[i : i + PAIRS], (one[i : i + PAIRS], other[i : i + PAIRS])) for i in cuts]

        def tasks() -> list[Any]:
            workers, table = self._workers, self._tables()
            return [workers.call(_predicted, table, one) for one in replicate(workers, workers.send(pieces))]

        none = np.empty(0, np.int64)
        return self._lazy(tasks, PairTable(frame.iloc[:0], (none, none)).with_predictions(np.empty(0)))

    def recommend(self, users: Any = None, k: int | None = None, *, exclude_known: bool = True) -> dd.DataFrame:
        """List the items with the highest predictions for each user.

        Parameters
        ----------
        users : vertex or list of vertices, optional
            The users; by default all that have ratings.
        k : int, optional
            How many items to list for each; by default 10, or all if there are fewer.
        exclude_known : bool, default True
            Leave out items that the user has rated, in the test or not.

        Returns
        -------
        dask.dataframe.DataFrame
            A lazy frame with a row for each user and item, the best first: ``user``, ``item``, ``prediction``. Of
            equally good items, the smaller vertex comes first. A user who has rated all items has no row.

        Raises
        ------
        OptionError
            If you ask for more than there are items, or the graph's edges do not list users first.
        IdError
            If `users` has a vertex that the graph does not have, or an item.

        Examples
        --------
        >>> frame = {"user": ["ann", "ann", "bob"], "item": ["x", "y", "x"], "rating": [5.0, 3.0, 4.0]}
        >>> G = dg.Graph.from_edges(frame, source="user", destination="item", weight="rating")
        >>> dg.factorize(G, rank=1, test=0).recommend(k=1).compute().round(1)
          user item  prediction
        0  bob    y         3.9
        """
        check_integer("k", k, or_none=True)
        check_flag("exclude_known", exclude_known)
        _, known, items = self._rated()
        k = _how_many(k, len(items), "item", "that have ratings")
        chosen = known if users is None else self._chosen(users, known, items)
        how = Recommendation(k, exclude_known, self._workers.threads)
        many = max(1, min(TASK, ROWS // k))
        blocks = [chosen[begin : begin + many] for begin in range(0, max(len(chosen), 1), many)]

        def tasks() -> list[Any]:
            workers, table = self._workers, self._tables()
            rated, ids = self._rated()[0], workers.share(self._numbering)
            return [workers.call(how, table, rated, one, ids) for one in blocks]

        nobody = np.empty(0, np.int64)
        return self._lazy(tasks, predictions(self._numbering, nobody, nobody, np.empty(0)))

    def similar(self, vertex: Any, k: int | None = None) -> dd.DataFrame:
        """List the vertices whose factors are most like those of a user or an item: other users, or other items.

        Parameters
        ----------
        vertex : vertex
            The user or item.
        k : int, optional
            How many to list; by default 10, or all if there are fewer.

        Returns
        -------
        dask.dataframe.DataFrame
            A lazy frame: ``first`` (the vertex), ``second``, and ``similarity``, the cosine of their factors, the
            largest first. Vertices without factors have none.

        Raises
        ------
        OptionError
            If you ask for more than there are, the graph's edges do not list users first, or biases without factors
            were found to be best.
        IdError
            If the graph does not have the vertex, or it has no ratings.

        Examples
        --------
        >>> G = dg.ratings(users=50, items=20, ratings=600, seed=1)
        >>> dg.factorize(G, rank=4).similar(0, k=3).compute()["first"].tolist()
        [0, 0, 0]
        """
        check_integer("k", k, or_none=True)
        number = self._ratings.numbering.find(vertex)
        side = next((one for one in self._rated()[1:] if number in one), None)
        if not self.totals["epoch"]:
            raise OptionError("biases alone are best for this graph, so all factors are 0, and none is like another")
        if side is None:
            raise IdError(f"vertex={vertex!r} has no ratings, so there are no factors to compare")
        many = _how_many(k, len(side) - 1, "vertex", "to compare with")

        def tasks() -> list[Any]:
            workers = self._workers
            return [workers.call(_similar, self._tables(), number, side, many, workers.share(self._numbering))]

        nobody = np.empty(0, np.int64)
        return self._lazy(tasks, _similar_table(self._numbering, 0, nobody, np.empty(0)))

    # -- what these share ----------------------------------------------------------------------------------------------

    def _tables(self) -> Any:
        """A task that puts the factors of all partitions together."""
        self._check_whole_column("factors", "but predictions need all")
        held = self._available()
        parts = sorted(held.homes)
        return self._workers.call(_table_of, [held.of(part) for part in parts], parts, float(self.totals["mean"]))

    def _rated(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Who has rated what, on a worker; and the numbers of all users and items."""
        graph, vertices = self._ratings, self._ratings.num_vertices

        def work() -> tuple[Any, np.ndarray, np.ndarray]:
            workers = graph.workers
            held = workers.wait(workers.hold([workers.call(KnownItems.of, graph.input_edges.as_listed(), vertices)]))
            ((users, items),) = workers.bring(workers.each(KnownItems.sides, [(held[0],)]))
            return held[0], users, items

        if self._known is None or any_lost([self._known[0]]):
            self._known = retry(graph.client, work, graph.forget_lost)
        return self._known

    def _chosen(self, users: Any, known: np.ndarray, items: np.ndarray) -> np.ndarray:
        """The numbers of the users that are asked for."""
        listed = vertex_list("users", users)
        numbers = np.array([self._ratings.numbering.find(one) for one in listed], np.int64)
        wrong = np.isin(numbers, items) & ~np.isin(numbers, known)
        if wrong.any():
            raise IdError(f"users={listed[int(wrong.argmax())]!r} is an item: recommend() lists items for users")
        return numbers

    def _lazy(self, tasks: Callable[[], list[Any]], empty: pd.DataFrame) -> dd.DataFrame:
        workers = self._workers
        return lazy_frame(workers, retry(workers.client, tasks, self._ratings.forget_lost), empty)


def _how_many(k: int | None, most: int, what: str, which: str) -> int:
    """The option `k=`: by default 10, which may be more than there are."""
    if k is not None and k > most:
        raise OptionError(f"k={k} is more than the {format_count(most, what)} {which}; ask for fewer, or leave it out")
    return USUAL if k is None else k


class PairTable:
    """Pairs as the user gave them, and by number. A plain class because Dask would search a dataclass for tasks."""

    def __init__(self, frame: pd.DataFrame, numbers: tuple[np.ndarray, np.ndarray]):
        self.frame, self.numbers = frame, numbers

    def with_predictions(self, found: np.ndarray) -> pd.DataFrame:
        return self.frame.set_axis([USER, ITEM], axis=1).assign(**{PREDICTION: found})


def _table_of(results: list[WorkerResult], parts: list[int], mean: float) -> FactorTable:
    pieces = [result.parts[part] for result, part in zip(results, parts, strict=True)]
    factors = [one.columns["factors"] for one in pieces]
    biases = [one.columns.get("bias", np.zeros(len(one.numbers))) for one in pieces]
    if len(pieces) == 1 and (pieces[0].numbers == np.arange(len(pieces[0].numbers))).all():
        return FactorTable(factors[0], biases[0], mean)
    order = np.argsort(np.concatenate([one.numbers for one in pieces]))
    return FactorTable(np.concatenate(factors)[order], np.concatenate(biases)[order], mean)


def _predicted(table: FactorTable, pairs: PairTable) -> pd.DataFrame:
    return pairs.with_predictions(table.of_pairs(*pairs.numbers))


def _similar(table: FactorTable, number: int, side: np.ndarray, k: int, ids: Numbering) -> pd.DataFrame:
    others, own = side[side != number], table.factors[number]
    lengths = np.linalg.norm(table.factors[others], axis=1) * np.linalg.norm(own)
    others, lengths = others[lengths > 0], lengths[lengths > 0]
    cosines = table.factors[others] @ own / lengths
    best = np.argsort(-cosines, kind="stable")[:k]
    return _similar_table(ids, number, others[best], cosines[best])


def _similar_table(ids: Numbering, number: int, others: np.ndarray, cosines: np.ndarray) -> pd.DataFrame:
    ends = (ids.restored(one.astype(np.int64)) for one in (np.full(len(others), number), others))
    return pd.DataFrame(dict(zip((FIRST, SECOND, SIMILARITY), (*ends, cosines), strict=True)))
