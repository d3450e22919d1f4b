"""Breadth-first search: the local solver, the engines and a few lines of plain Python agree to the last predecessor."""

from collections import deque
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order

import dgraph as dg
from dgraph import errors
from dgraph.ops import bfs
from dgraph.programs import laws
from dgraph.programs.monoid import NONE, UNREACHED
from dgraph.solvers.paths import breadth_first
from dgraph.solvers.paths.breadth_first import SearchThresholds
from dgraph.solvers.solver import Problem
from dgraph.tables.edge_tables import EdgeTables
from dgraph.testing.strategies import small_graphs

pytestmark = pytest.mark.usefixtures("several_threads")

OFTEN, NEVER = 10**6, 0
SIZES = {  # so that small graphs meet every turn that large ones take
    "pushed by all": SearchThresholds(alpha=NEVER, alone=0, taken=1),
    "pushed by one and by all": SearchThresholds(alpha=NEVER, alone=2, taken=1),
    "pulled": SearchThresholds(alpha=OFTEN, beta=OFTEN, alone=0, taken=1),
    "pulled and pushed": SearchThresholds(alpha=OFTEN, beta=NEVER, alone=0, taken=1),
    "pulled and pushed by one": SearchThresholds(alpha=3, beta=2, alone=10, taken=2),
}


def tables(graph, threads):
    """The edges of a graph of one partition."""
    orders = ("out", "incoming") if graph.directed else ("out",)
    (partition,) = graph.partitioned(orders).held
    return EdgeTables(partition, graph.directed, {}, threads)


def solve(graph, sources, threads, *, target=NONE, depth_limit=UNREACHED):
    """The solver's columns, by number."""
    others = np.zeros(graph.num_vertices, bool)
    others[sources] = True
    values = {"source": sources[0], "depth_limit": depth_limit, "target": target}
    return bfs.BreadthFirst.solver.solve(Problem(tables(graph, threads), values, {"others": others}, threads)).values


def plain(pairs, n, sources):
    """Levels and smallest predecessors in plain Python; -1 for none."""
    level, queue = [-1] * n, deque(dict.fromkeys(sources))
    for u in queue:
        level[u] = 0
    after = [[] for _ in range(n)]
    for u, v in pairs:
        after[u].append(v)
    while queue:
        u = queue.popleft()
        for v in after[u]:
            if level[v] < 0:
                level[v] = level[u] + 1
                queue.append(v)
    before = [
        min((u for u, w in pairs if w == v and level[u] >= 0 and level[u] == level[v] - 1), default=-1)
        for v in range(n)
    ]
    return level, before


@st.composite
def searches(draw):
    """A graph, arcs by number, sources, and where to end."""
    frame, options = draw(small_graphs(weights=None, max_vertices=10).filter(lambda drawn: len(drawn[0])))
    isolated = [] if options["vertices"] is None else options["vertices"]["id"]
    number = {vertex: i for i, vertex in enumerate(sorted({*frame["src"], *frame["dst"], *isolated}))}
    pairs = [(number[u], number[v]) for u, v in zip(frame["src"], frame["dst"], strict=True)]
    pairs += [] if options["directed"] else [(v, u) for u, v in pairs]
    vertex = st.integers(0, len(number) - 1)
    sources = draw(st.lists(vertex, min_size=1, max_size=3, unique=True))
    return frame, options, list(number), pairs, sources, draw(vertex | st.none()), draw(st.integers(0, 3) | st.none())


def expected(drawn):
    """What is to be found, with limits."""
    _, _, ids, pairs, sources, target, depth_limit = drawn
    level, before = plain(pairs, len(ids), sources)
    limit = UNREACHED if depth_limit is None else depth_limit
    if target is not None and 0 <= level[target] <= limit:
        limit = level[target]
    reached = [0 <= one <= limit for one in level]
    distance = [one if ok else np.inf for one, ok in zip(level, reached, strict=True)]
    return distance, [one if ok else -1 for one, ok in zip(before, reached, strict=True)]


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@settings(max_examples=25)
@given(drawn=searches(), patience=st.sampled_from([-1, 10]))
def test_every_mix_of_push_and_pull_gives_the_same_tree(sizes, drawn, patience):
    frame, options, _, _, sources, target, depth_limit = drawn
    limits = {"target": NONE if target is None else target}
    limits["depth_limit"] = UNREACHED if depth_limit is None else depth_limit
    distance, before = expected(drawn)
    for threads in (1, 2, 3):
        graph = dg.Graph.from_edges(frame, **options)  # anew: the rows of the one before are sorted
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(breadth_first, "DEFAULT_THRESHOLDS", sizes)
            patch.setattr(breadth_first, "READS_BEFORE_SORT", patience)
            found = solve(graph, sources, threads, **limits)
        assert found["distance"].tolist() == distance
        assert found["predecessor"].tolist() == before


@pytest.mark.parametrize("parts", [1, 2, 3])
@settings(max_examples=15)
@given(drawn=searches())
def test_engines_agree(parts, drawn):
    frame, options, ids, _, sources, target, depth_limit = drawn
    graph = dg.Graph.from_edges(frame, parts=parts, **options)
    limits = {"target": None if target is None else ids[target], "depth_limit": depth_limit}
    distance, before = expected(drawn)
    for engine in ("bsp", "gas", "local")[: 3 if parts == 1 else 2]:
        result = dg.bfs(graph, [ids[one] for one in sources], engine=engine, **limits)
        found = result.compute()
        assert found["distance"].tolist() == distance, engine
        assert [-1 if pd.isna(one) else ids.index(one) for one in found["predecessor"]] == before, engine


@pytest.mark.parametrize("directed", [True, False])
def test_distances_and_tree_of_a_large_graph_match_scipy(directed):
    """Races and wrong turns hide in small ones."""
    graph = dg.rmat(scale=18 if directed else 17, directed=directed)
    out = tables(graph, 2).partition.out
    n, rows = graph.num_vertices, out.rows()
    arcs = csr_matrix((np.ones(out.num_edges, np.int8), (rows, out.neighbours)), (n, n))
    source = int(np.argmax(np.diff(out.indptr) == 3))
    order, tree = breadth_first_order(arcs, source)
    level = np.full(n, np.inf)
    level[source] = 0
    for v in order[1:]:
        level[v] = level[tree[v]] + 1
    leads = np.isfinite(level[rows]) & (level[rows] + 1 == level[out.neighbours])
    before = np.full(n, n)
    np.minimum.at(before, out.neighbours[leads], rows[leads])
    before[before == n] = -1
    for threads in (2, 2, 3, 2, 1):  # rows are sorted on the way
        found = solve(graph, [source], threads)
        assert np.array_equal(found["distance"], level)
        assert np.array_equal(found["predecessor"], before)


def test_rows_out_of_order_are_noticed():
    """Whose partitions began with the edges by destination has those in the order of the list."""
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0, 0, 2, 1], "dst": [2, 1, 3, 3]}))
    graph.partitioned(("incoming",))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(breadth_first, "DEFAULT_THRESHOLDS", SIZES["pulled"])
        assert dg.bfs(graph, 0).compute()["predecessor"].fillna(-1).tolist() == [-1, 0, 0, 1]


@pytest.mark.parametrize(
    "program",
    [
        bfs.BreadthFirst(source=0),
        bfs.BreadthFirst(source=0, depth_limit=2),
        bfs.LevelsUpTo(source=0, target=2),
    ],
    ids=lambda program: type(program).__name__,
)
def test_programs_keep_the_laws(program):
    laws.check_program(program)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda g: dg.bfs(g, []), "source=.. is empty"),
        (lambda g: dg.bfs(g, 0, target=9), r"no vertex 9; .*the first is \d+$"),
        (lambda g: dg.bfs(g, [0, 9]), "no vertex 9"),
        (lambda g: dg.bfs(g, 0, depth_limit=-1), "depth_limit=-1"),
        (lambda g: dg.bfs(g, 0, depth_limit=1.5), "depth_limit=1.5"),
        (lambda g: dg.bfs(g, 0, depth_limit=True), "depth_limit=True"),
    ],
)
def test_options_are_checked(call, words):
    with pytest.raises(errors.InputError, match=words):
        call(dg.Graph.from_edges(pd.DataFrame({"src": [0], "dst": [1]})))


@pytest.mark.parametrize("ids", [[1, 5, 9], ["a", "b", "c"], [UUID(int=number) for number in (3, 4, 5)]])
def test_vertices_may_be_named_by_items_of_arrow_arrays(ids):
    graph = dg.Graph.from_edges({"src": ids[:2], "dst": ids[1:]})
    array = pa.array([one.bytes for one in ids], pa.uuid()) if isinstance(ids[0], UUID) else pa.array(ids)
    for source, distances in ((array[0], [0, 1, 2]), (array[:2], [0, 0, 1]), (list(array[1:]), [np.inf, 0, 0])):
        assert dg.bfs(graph, source).compute()["distance"].tolist() == distances
    assert dg.bfs(graph, array[0], target=array[1]).compute()["distance"].tolist() == [0, 1, np.inf]
