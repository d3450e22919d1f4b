"""How alike vertices are, by the neighbours that they share: of given pairs, or the most similar to each vertex."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from dgraph.arguments import check_choice, check_flag, check_integer, is_default, is_number, known_options
from dgraph.building import graph_frames
from dgraph.building.vertex_pairs import check_known, frame_of_pairs, numbered_pairs
from dgraph.building.weights import check_weights
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.measures.neighbourhoods import Neighbourhoods, neighbourhoods, threads_of
from dgraph.measures.similar_pairs import Shares, SimilarPairs, best_of_each, similar_pairs
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.phrases.phrases import format_count, warn
from dgraph.solvers.similarity import ANGLE, COSINE, JACCARD, OVERLAP, PRODUCT, SUM, sizes_of

if TYPE_CHECKING:
    import dask.dataframe as dd

TOP = 10  # how many vertices are listed for each by default


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


@known_options(runs=True)
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
    """Similarity of vertices by shared neighbours.

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
        ``"jaccard"`` is ``|A∩B| / |A∪B|``, ``"overlap"`` ``|A∩B| / min(|A|, |B|)``, ``"cosine"``
        ``|A∩B| / √(|A| |B|)``, ``"common_neighbors"`` ``|A∩B|``, ``"adamic_adar"`` the sum of 1 / ln n(w) over A∩B,
        ``"resource_allocation"`` that of 1 / n(w), ``"preferential_attachment"`` ``|A| |B|``. Nothing divided by
        nothing is 0.
    top_k : int, default 10
        How many vertices to list for each, without `pairs`. Of equally similar ones, the smaller vertex comes first.
    direction : {"out", "in"}, default "out"
        In a directed graph, whether neighbours are where edges lead, or where they come from.
    weighted : bool, default False
        Use the graph's weights: neighbours count by them. They must be finite and >= 0, and those of repeated edges
        are added up. Shared neighbours have the smaller of two weights, all neighbours of either the larger, and for
        the cosine their product. Only for ``"jaccard"``, ``"overlap"`` and ``"cosine"``.
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

    A graph of neighbours:

    >>> near = dg.similarity(G, top_k=1)
    >>> dg.Graph.from_edges(near, source="first", destination="second", weight="similarity").num_edges
    3
    """
    check_choice("measure", measure, tuple(MEASURES))
    check_choice("direction", direction, ("out", "in"))
    weighted = check_flag("weighted", weighted)
    if not is_number(at_least) or isinstance(at_least, bool) or not 0 <= at_least < np.inf:
        raise OptionError(f"at_least={at_least!r}: pass a number >= 0")
    limit = None if max_degree is None else check_integer("max_degree", max_degree, 1)
    kind, has_weights = MEASURES[measure]
    kind = ANGLE if kind == COSINE and weighted else kind
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
    elif not (is_default(top_k, TOP) and is_default(at_least, 0.0)):
        raise OptionError("top_k= and at_least= choose among all vertices: leave them out with pairs=")
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


@retry_on_loss
def _frame(
    graph: Graph, asked: Question, pairs: tuple[np.ndarray, np.ndarray] | None, how: tuple[int, float]
) -> dd.DataFrame:
    workers, threads = graph.workers, threads_of(graph)
    near = neighbourhoods(graph, asked.direction, asked.weight)
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
        found = best_of_each(workers, near, told, asked.kind, how, threads)
    else:
        found = similar_pairs(workers, near, told, asked.kind, pairs, lengths, threads)
    held, ids = workers.wait(found), workers.share(graph.numbering)
    empty = SimilarPairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)).table(graph.numbering)
    return graph_frames.lazy_frame(workers, [workers.call(SimilarPairs.table, one, ids) for one in held], empty)


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
                f"max_degree={asked.limit}: similarity ignores {format_count(count, 'vertex')} that more vertices than "
                "that have as a neighbour"
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
    looks = len(near.rows.others)
    add_up = partial(sizes_of, near.rows, told.share, asked.kind, worthwhile_threads(threads, looks))
    return near.numbers, call_team(threads, add_up, looks), near.rows.lengths


def _numbered(graph: Graph, pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of both vertices of each pair."""
    frame = frame_of_pairs(pairs)
    numbers = numbered_pairs(graph, frame)
    check_known(frame, numbers)
    return numbers[0].astype(np.uint32), numbers[1].astype(np.uint32)
