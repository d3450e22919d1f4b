"""How alike vertices are, by the neighbours that they share: of given pairs, or the most similar to each vertex.

Each partition lists the neighbours of its vertices, each once. Where there are several, work is cut into pieces that
need a bounded number of other vertices' neighbours, which the other partitions send.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from dgraph.arguments import check_choice, check_flag, check_integer, is_default, is_number, known_options
from dgraph.building import graph_frames
from dgraph.building.weights import check_weights
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import ColumnError, IdError, InputError, OptionError
from dgraph.frames.any_frame import to_pandas
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import team, worthwhile_threads
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.partition import Partition
from dgraph.phrases.phrases import format_count, warn
from dgraph.runs.repartition import neighbourhood_partitions
from dgraph.solvers.similarity import (
    COSINE,
    JACCARD,
    OVERLAP,
    PRODUCT,
    SUM,
    Rows,
    cut_rows,
    most_similar,
    of_pairs,
    simple_rows,
    sizes_of,
)

if TYPE_CHECKING:
    import dask.dataframe as dd

FIRST, SECOND, COLUMN = "first", "second", "similarity"
TOP = 10  # how many vertices are listed for each by default
LOOKS = 16  # times that a search for similar vertices reads each edge, at least
PIECE = 1 << 25  # neighbours of others that a piece of work asks for, unless one vertex needs more
PAIRS = 1 << 20  # pairs in a piece


class Measure(NamedTuple):
    kind: int
    weighted: bool = False  # whether it has a meaning for weights


MEASURES = {
    "jaccard": Measure(JACCARD, True),
    "overlap": Measure(OVERLAP, True),
    "cosine": Measure(COSINE, True),
    "common_neighbors": Measure(SUM),
    "adamic_adar": Measure(SUM),
    "resource_allocation": Measure(SUM),
    "preferential_attachment": Measure(PRODUCT),
}
Name = Literal[
    "jaccard", "overlap", "cosine", "common_neighbors", "adamic_adar", "resource_allocation", "preferential_attachment"
]


@known_options()
def similarity(
    graph: Graph,
    pairs: Any = None,
    *,
    measure: Name = "jaccard",
    top_k: int = TOP,
    direction: Literal["out", "in"] = "out",
    weighted: bool = False,
    max_degree: int | None = None,
    at_least: float = 0.0,
) -> dd.DataFrame:
    """Similarity of vertices by the neighbours that they share.

    Given pairs are compared, or each vertex with those most like it. A vertex is no neighbour of itself, and repeated
    edges count once.

    Parameters
    ----------
    graph : Graph
        The graph. In a directed one, neighbours are where edges lead, so edges from users to items compare users.
    pairs : frame or dict, optional
        Two columns of vertices. By default, each vertex is compared with all others that share a neighbour.
    measure : str, default "jaccard"
        With A and B the neighbours of the two vertices, and n(w) the number of vertices that have w as a neighbour:
        ``"jaccard"`` |A∩B| / |A∪B|, ``"overlap"`` |A∩B| / min(|A|, |B|), ``"cosine"`` |A∩B| / √(|A| |B|),
        ``"common_neighbors"`` |A∩B|, ``"adamic_adar"`` the sum of 1 / ln n(w) over A∩B,
        ``"resource_allocation"`` that of 1 / n(w), ``"preferential_attachment"`` |A| |B|. Nothing divided by nothing
        is 0.
    top_k : int, default 10
        How many vertices to list for each, without `pairs`. Of equally similar ones, the smaller vertex comes first.
    direction : {"out", "in"}, default "out"
        In a directed graph, whether neighbours are where edges lead, or where they come from.
    weighted : bool, default False
        Count neighbours by weights, which must be finite and >= 0: those of repeated edges are added up. Shared
        neighbours have the smaller of two weights, all neighbours of either the larger, and for the cosine their
        product. Only for ``"jaccard"``, ``"overlap"`` and ``"cosine"``.
    max_degree : int, optional
        Ignore neighbours that more than this many vertices have: they take most of the time, and tell little. A
        warning says how many they are.
    at_least : float, default 0.0
        Without `pairs`, list only similarities of at least this much.

    Returns
    -------
    dask.dataframe.DataFrame
        The columns ``first``, ``second`` and ``similarity``: for given pairs a row for each, in their order; otherwise
        those most similar to each vertex, the most similar first, without vertices that share no neighbour.
        ``dg.Graph.from_edges(frame, source="first", destination="second", weight="similarity")`` makes a graph of it.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or the measure has no meaning for weights or without `pairs`.
    IdError
        If `pairs` names a vertex that is not in the graph.
    ColumnError
        If `pairs` does not have two columns, or ``weighted=True`` and the graph has no weights.
    WeightError
        If ``weighted=True`` and a weight is negative or infinite.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "a", "b", "b", "c"], "dst": ["x", "y", "y", "z", "x"]})
    >>> dg.similarity(G).compute()
      first second  similarity
    0     a      c    0.500000
    1     a      b    0.333333
    2     b      a    0.333333
    3     c      a    0.500000
    >>> dg.similarity(G, {"first": ["a", "b"], "second": ["b", "c"]}).compute()
      first second  similarity
    0     a      b    0.333333
    1     b      c    0.000000
    """
    check_choice("measure", measure, tuple(MEASURES))
    check_choice("direction", direction, ("out", "in"))
    weighted = check_flag("weighted", weighted)
    if not is_number(at_least) or not 0 <= at_least < np.inf:
        raise OptionError(f"at_least={at_least!r}: pass a number >= 0")
    limit = None if max_degree is None else check_integer("max_degree", max_degree, 1)
    kind, has_weights = MEASURES[measure]
    if weighted and not has_weights:
        raise OptionError(f'measure="{measure}" has no meaning for weights; leave out weighted=True')
    others = max(graph.num_vertices - 1, 0)
    if pairs is None:
        if kind == PRODUCT:
            raise OptionError(
                f'measure="{measure}" is larger the more neighbours a vertex has, so every vertex would list the same '
                "ones; pass pairs="
            )
        check_integer("top_k", top_k, 1)
        if top_k > others and not is_default(top_k, TOP):
            raise OptionError(f"top_k={top_k}: the graph has {format_count(others, 'vertex')} to compare with each")
    if weighted:
        check_weights(graph, "similarity", ("out",))
    asked = Question(measure, kind, graph.weight if weighted else None, direction, limit)
    listed = None if pairs is None else _numbered(graph, pairs)
    return _frame(graph, asked, listed, (top_k, float(at_least)))


class Question(NamedTuple):
    """What is asked, except which vertices are compared."""

    measure: str
    kind: int
    weight: str | None
    direction: str
    limit: int | None


class Neighbourhoods:
    """The neighbours of a partition's vertices, and the vertices that have these as neighbours. This is a plain class
    because Dask would search a dataclass or a tuple for tasks."""

    def __init__(self, numbers: np.ndarray, rows: Rows, back: Rows):
        self.numbers, self.rows, self.back = numbers, rows, back

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.numbers.nbytes + self.rows.nbytes + (0 if self.back is self.rows else self.back.nbytes)


class Shares:
    """What sharing a vertex adds, the size of each vertex's neighbourhood, and the number of neighbours of each: by
    vertex number. A plain class, as above."""

    def __init__(self, share: np.ndarray, sizes: np.ndarray, lengths: np.ndarray):
        self.share, self.sizes, self.lengths = share, sizes, lengths

    def __sizeof__(self) -> int:
        return self.share.nbytes + self.sizes.nbytes + self.lengths.nbytes


class SimilarPairs:
    """Pairs of vertices by number, and their similarity. A plain class, as above."""

    def __init__(self, first: np.ndarray, second: np.ndarray, score: np.ndarray, start: int = 0):
        self.first, self.second, self.score, self.start = first, second, score, start

    def table(self, ids: Numbering) -> pd.DataFrame:
        """With the user's ids."""
        ends = (ids.id_type.restore(ids.take(end)) for end in (self.first, self.second))
        rows = pd.RangeIndex(self.start, self.start + len(self.score))
        return pd.DataFrame(dict(zip((FIRST, SECOND, COLUMN), (*ends, self.score), strict=True))).set_axis(rows)

    def __sizeof__(self) -> int:
        return self.first.nbytes + self.second.nbytes + self.score.nbytes


@retry_on_loss
def _frame(
    graph: Graph, asked: Question, pairs: tuple[np.ndarray, np.ndarray] | None, how: tuple[int, float]
) -> dd.DataFrame:
    workers, threads = graph.workers, graph.workers.threads_each(graph.num_parts)
    near = workers.wait(
        workers.each(_neighbourhoods, [(one, graph.directed, asked, threads) for one in _held(graph, asked)])
    )
    heard = np.zeros(graph.num_vertices, np.int64)
    for numbers, lengths in workers.bring(workers.each(_lengths_back, [(one,) for one in near])):
        heard[numbers] = lengths
    share = _share(asked, heard)
    nothing = np.empty(0)
    shared = workers.share(Shares(share, nothing, nothing))
    sizes, lengths = np.zeros(len(heard)), np.zeros(len(heard), np.int64)
    for numbers, some, many in workers.bring(workers.each(_sizes, [(one, shared, asked, threads) for one in near])):
        sizes[numbers], lengths[numbers] = some, many
    told = workers.share(Shares(share, sizes, heard if pairs is None else lengths))
    if pairs is None:
        found = _best_of_each(graph, near, told, asked, how, threads)
    else:
        found = _of_pairs(graph, near, told, asked, pairs, threads)
    held, ids = workers.wait(workers.hold(found)), workers.share(graph.numbering)
    empty = SimilarPairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)).table(graph.numbering)
    return graph_frames.lazy_frame(workers, [workers.call(SimilarPairs.table, one, ids) for one in held], empty)


def _held(graph: Graph, asked: Question) -> list[Any]:
    """Partitions that have all neighbours of their vertices, and all vertices that have these as neighbours."""
    columns = () if asked.weight is None else (asked.weight,)
    if graph.num_parts == 1:
        return list(graph.partitioned(("out", "incoming") if graph.directed else ("out",), columns).held)
    orders = ("incoming", "out") if graph.directed else ("incoming",)
    return neighbourhood_partitions(graph, columns, orders, twice=graph.directed, in_order=False)


@explain_lack_of_memory("the neighbours of all vertices, each once,", "compare vertices")
def _neighbourhoods(partition: Partition, directed: bool, asked: Question, threads: int) -> Neighbourhoods:
    owned = partition.numbers[: partition.num_owned].astype(np.uint32, copy=False)
    out, incoming = partition.out, partition.incoming
    if not directed:  # then only one of them has all edges of the vertices
        out = incoming = out if partition.parts == 1 else incoming
    rows, back = (out, incoming) if asked.direction == "out" else (incoming, out)
    threads = worthwhile_threads(threads, partition.num_edges)

    def simple(side: Any) -> Rows:
        weights = None
        if asked.weight is not None:  # which partitions without edges may lack
            weights = side.columns.get(asked.weight, np.empty(0)).astype(np.float64, copy=False)
        neighbours = side.neighbours
        if partition.parts > 1:
            neighbours = partition.numbers.astype(np.uint32, copy=False)[neighbours]
        return simple_rows(side.indptr, neighbours, weights, owned, threads)

    def by_team() -> Neighbourhoods:
        listed = simple(rows)
        return Neighbourhoods(owned, listed, simple(back) if directed else listed)

    return call_team(threads, by_team)


def _lengths_back(near: Neighbourhoods) -> tuple[np.ndarray, np.ndarray]:
    return near.numbers, near.back.lengths


def _share(asked: Question, heard: np.ndarray) -> np.ndarray:
    """What sharing each vertex adds, if so many have it as a neighbour: 0 for those that are ignored."""
    kept = heard > 0
    if asked.limit is not None:
        ignored = heard > asked.limit
        kept &= ~ignored
        if count := int(ignored.sum()):
            warn(
                f"max_degree={asked.limit}: similarity ignores {format_count(count, 'vertex')} with more neighbours, "
                "as if no vertex had them"
            )
    if asked.measure == "adamic_adar":
        kept &= heard > 1  # nobody shares the others
        return np.divide(1, np.log(heard, where=kept, out=np.ones(len(heard))), where=kept, out=np.zeros(len(heard)))
    if asked.measure == "resource_allocation":
        return np.divide(1, heard, where=kept, out=np.zeros(len(heard)))
    return kept.astype(np.float64 if asked.weight is not None else np.int32)


def _sizes(
    near: Neighbourhoods, told: Shares, asked: Question, threads: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return near.numbers, sizes_of(near.rows, told.share, asked.kind == COSINE, threads), near.rows.lengths


# -- the most similar to each vertex -----------------------------------------------------------------------------------


def _best_of_each(
    graph: Graph, near: list[Any], told: Any, asked: Question, how: tuple[int, float], threads: int
) -> list[Any]:
    """Tasks that find them."""
    workers = graph.workers
    if len(near) == 1:
        return [workers.call(_best_here, near[0], told, asked.kind, how, threads)]
    tasks = []
    for one, cuts in zip(near, workers.bring(workers.each(_cut, [(one, told) for one in near])), strict=True):
        for begin, end in pairwise(cuts):
            wanted = workers.call(_wanted, one, begin, end)
            sent = [workers.call(_picked, other, wanted, told) for other in near]
            tasks.append(workers.call(_best_of_piece, one, (begin, end), wanted, sent, told, asked.kind, how, threads))
    return tasks


@explain_lack_of_memory("the most similar vertices", "find them")
def _best_here(near: Neighbourhoods, told: Shares, kind: int, how: tuple[int, float], threads: int) -> SimilarPairs:
    return _best(near.numbers, near.rows, near.back, told.share, told.sizes, kind, how, threads)


def _best(
    own: np.ndarray,
    rows: Rows,
    back: Rows,
    share: np.ndarray,
    sizes: np.ndarray,
    kind: int,
    how: tuple[int, float],
    threads: int,
) -> SimilarPairs:
    looks = LOOKS * len(rows.others)
    threads = worthwhile_threads(threads, looks)
    found = call_team(threads, partial(most_similar, rows, own, back, share, sizes, kind, how, threads), looks)
    filled = np.arange(found.best.shape[1]) < found.counts[:, None]
    return SimilarPairs(np.repeat(own, found.counts), found.best[filled], found.scores[filled])


def _cut(near: Neighbourhoods, told: Shares) -> list[int]:
    """Where to cut the rows of a partition into pieces."""
    rows, marks = len(near.numbers), np.zeros(len(told.share), np.int64)
    cuts = np.empty(rows, np.int64)
    count = team(cut_rows, 1, near.rows.bounds, near.rows.others, told.share, told.lengths, PIECE, cuts, marks)
    return [0, *cuts[:count].tolist(), rows]


def _wanted(near: Neighbourhoods, begin: int, end: int) -> np.ndarray:
    """The neighbours in some rows, ascending."""
    return np.unique(_subset(near.rows, np.arange(begin, end)).others)


def _picked(near: Neighbourhoods, wanted: np.ndarray, told: Shares, *, back: bool = True) -> tuple[np.ndarray, Rows]:
    """Those of some vertices that a partition owns, and their rows. What is ignored has none."""
    wanted = wanted[told.share[wanted] > 0] if back else wanted
    order = np.argsort(near.numbers)
    places = np.searchsorted(near.numbers, wanted, sorter=order)
    places = order[np.minimum(places, len(order) - 1)] if len(order) else np.zeros(0, np.int64)
    here = places[near.numbers[places] == wanted] if len(order) else places
    return near.numbers[here], _subset(near.back if back else near.rows, here)


def _subset(rows: Rows, chosen: np.ndarray) -> Rows:
    """Some rows, without gaps between them."""
    begin, lengths = rows.bounds[chosen, 0], rows.lengths[chosen]
    ends = np.cumsum(lengths)
    places = np.arange(int(lengths.sum())) + np.repeat(begin - (ends - lengths), lengths)
    weights = None if rows.weights is None else rows.weights[places]
    return Rows(np.stack([ends - lengths, ends], axis=1), rows.others[places], weights)


def _joined(wanted: np.ndarray, sent: list[tuple[np.ndarray, Rows]]) -> Rows:
    """The rows of `wanted`, from all partitions; those that no partition sends are empty."""
    bounds, start = np.zeros((len(wanted), 2), np.int64), 0
    for numbers, rows in sent:
        bounds[np.searchsorted(wanted, numbers)] = rows.bounds + start
        start += len(rows.others)
    weights = [rows.weights for _, rows in sent if rows.weights is not None]
    return Rows(bounds, np.concatenate([rows.others for _, rows in sent]), np.concatenate(weights) if weights else None)


@explain_lack_of_memory("the most similar vertices", "find them")
def _best_of_piece(
    near: Neighbourhoods,
    piece: tuple[int, int],
    wanted: np.ndarray,
    sent: list[tuple[np.ndarray, Rows]],
    told: Shares,
    kind: int,
    how: tuple[int, float],
    threads: int,
) -> SimilarPairs:
    rows = _subset(near.rows, np.arange(*piece))
    rows = rows._replace(others=np.searchsorted(wanted, rows.others).astype(np.uint32))  # what they are called here
    own = near.numbers[slice(*piece)]
    return _best(own, rows, _joined(wanted, sent), told.share[wanted], told.sizes, kind, how, threads)


# -- given pairs -------------------------------------------------------------------------------------------------------


def _numbered(graph: Graph, pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of both vertices of each pair."""
    if not hasattr(pairs, "columns") and not hasattr(pairs, "column_names") and not isinstance(pairs, Mapping):
        raise InputError(f"pairs= is a {type(pairs).__name__}: pass a frame or a dict with two columns of vertices")
    frame = to_pandas(pairs.compute() if hasattr(pairs, "dask") else pairs)
    if len(frame.columns) != 2:
        raise ColumnError(f"pairs= has the columns {list(frame.columns)}: give two, of vertices")
    return _numbers(graph, frame, 0), _numbers(graph, frame, 1)


def _numbers(graph: Graph, frame: pd.DataFrame, place: int) -> np.ndarray:
    name = frame.columns[place]
    given = pd.Index(frame.iloc[:, place])
    ids = pd.Index(graph.numbering.id_type.restore(graph.numbering.ids()))
    numbers = ids.get_indexer(given)
    if (numbers < 0).any():
        unknown = given[numbers < 0]
        raise IdError(
            f"pairs=: column {name!r} names {format_count(unknown.nunique(dropna=False), 'vertex')} that the graph "
            f"does not have, for example {unknown.tolist()[0]!r}"
        )
    return numbers.astype(np.uint32)


def _of_pairs(
    graph: Graph, near: list[Any], told: Any, asked: Question, pairs: tuple[np.ndarray, np.ndarray], threads: int
) -> list[Any]:
    """Tasks that compare them."""
    workers, tasks = graph.workers, []
    for start in range(0, max(len(pairs[0]), 1), PAIRS):
        first, second = (end[start : start + PAIRS] for end in pairs)
        wanted, sent = np.empty(0, np.uint32), near
        if len(near) > 1:
            wanted = np.unique(np.concatenate([first, second]))
            sent = [workers.call(_picked, one, wanted, told, back=False) for one in near]
        tasks.append(workers.call(_compared, first, second, wanted, sent, told, asked.kind, threads, start))
    return tasks


@explain_lack_of_memory("the neighbours of pairs of vertices", "compare them")
def _compared(
    first: np.ndarray,
    second: np.ndarray,
    wanted: np.ndarray,
    sent: list[Any],
    told: Shares,
    kind: int,
    threads: int,
    start: int,
) -> SimilarPairs:
    one, other, sizes = first, second, told.sizes
    if isinstance(sent[0], Neighbourhoods):
        rows = sent[0].rows
    else:  # rows have the places of their vertices in `wanted`
        rows, sizes = _joined(wanted, sent), told.sizes[wanted]
        one, other = (np.searchsorted(wanted, end).astype(np.uint32) for end in (first, second))
    looks = 4 * int(np.minimum(told.lengths[first], told.lengths[second]).sum())
    threads = worthwhile_threads(threads, looks)
    scores = call_team(threads, partial(of_pairs, rows, one, other, told.share, sizes, kind, threads), looks)
    return SimilarPairs(first, second, scores, start)
