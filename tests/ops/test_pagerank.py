"""PageRank: solver, engines and partitions agree with plain power iteration and with NetworkX, to the last option."""

from functools import partial

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import DATA, real_graph
from scipy.sparse import csr_array

import dgraph as dg
from dgraph import errors
from dgraph.solvers.ranks import gather
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")

WAYS = [
    ({}, {"engine": "local"}),
    ({}, {"engine": "bsp"}),
    ({"parts": 2, "policy": "incoming"}, {"engine": "gas"}),
    ({"parts": 3, "policy": "hybrid"}, {"engine": "bsp"}),
]
SOME = np.random.default_rng(3).integers(0, 40, (160, 2))
FRAME = pd.DataFrame(np.unique(SOME, axis=0), columns=["src", "dst"])
FRAME["weight"] = np.random.default_rng(4).integers(0, 5, len(FRAME)) / 4
JUMPS, STRANGER = {3: 1.0, 99: 3.0}, 99


def graph_of(directed=True, **place):
    """Loops, vertices without out-edges, edges of weight 0, and an isolated vertex."""
    frame = FRAME if directed else FRAME[FRAME["src"] <= FRAME["dst"]]
    vertices = pd.DataFrame({"id": [*range(40), STRANGER]})
    graph = dg.Graph.from_edges(frame, weight="weight", directed=directed, vertices=vertices, **place)
    peer = nx.from_pandas_edgelist(frame, "src", "dst", "weight", create_using=nx.DiGraph if directed else nx.Graph)
    peer.add_nodes_from(vertices["id"])
    return graph, peer


def iterated(source, destination, n, *, rounds, alpha=0.85, weight=None, directed=True, restart=None, lost=False):
    """Power iteration by SciPy."""
    if not directed:
        mirrored = source != destination
        source, destination, weight = (
            one if one is None else np.concatenate([one, other[mirrored]])
            for one, other in ((source, destination), (destination, source), (weight, weight))
        )
    weight = np.ones(len(source)) if weight is None else weight
    strength = np.bincount(source, weight, n)
    matrix = csr_array((weight, (destination, source)), shape=(n, n))
    share = np.divide(1, strength, out=np.zeros(n), where=strength > 0)
    jumps = np.full(n, 1 / max(n, 1)) if restart is None else restart
    rank = jumps
    for _ in range(rounds):
        stuck = 0 if lost else rank[strength == 0].sum()
        rank = alpha * (matrix @ (rank * share)) + (1 - alpha + alpha * stuck) * jumps
    return rank


@settings(max_examples=20, deadline=None)
@given(
    small_graphs(kinds=("dense",)),
    st.sampled_from(WAYS),
    st.integers(1, 12),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["float64", "float64", "float32"]),
)
def test_rounds_are_those_of_power_iteration(drawn, way, rounds, weighted, lost, dtype):
    frame, kwargs = drawn
    place, options = way
    weighted &= kwargs["weight"] is not None
    graph = dg.Graph.from_edges(frame, **kwargs, **place)
    options = {**options, "weighted": weighted, "dangling": "none" if lost else None, "dtype": dtype}
    found = dg.pagerank(graph, max_iter=rounds, tol=0, **options).compute()
    number = {vertex: i for i, vertex in enumerate(found["vertex"])}
    source, destination = (frame[end].map(number).to_numpy(dtype=np.int64) for end in ("src", "dst"))
    weight = frame["weight"].to_numpy(dtype=np.float64) if weighted else None
    expected = iterated(
        source, destination, len(number), rounds=rounds, weight=weight, directed=kwargs["directed"], lost=lost
    )
    assert found["pagerank"].dtype == dtype
    np.testing.assert_allclose(found["pagerank"], expected, rtol=1e-12 if dtype == "float64" else 1e-5)


OPTIONS = [
    ({}, {}),
    ({"weighted": True}, {}),
    ({"personalization": JUMPS}, {}),
    ({"personalization": JUMPS, "weighted": True}, {}),
    ({"personalization": JUMPS, "dangling": "personalization"}, {}),
    ({"personalization": JUMPS, "dangling": "uniform"}, {"dangling": dict.fromkeys([*range(40), STRANGER], 1)}),
    ({"personalization": JUMPS, "dangling": {5: 2, 6: 1}, "weighted": True}, {}),
    ({"dangling": {5: 2, 6: 1}}, {}),
    ({"dangling": "uniform"}, {"dangling": None}),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0].get('parts', 1)}-{way[1]['engine']}")
@pytest.mark.parametrize("directed", [True, False])
def test_options_mean_what_networkx_means(directed, way):
    graph, peer = graph_of(directed, **way[0])
    for asked, changed in OPTIONS:
        found = dg.pagerank(graph, alpha=0.9, tol=1e-13, max_iter=1000, **asked, **way[1]).compute()
        meant = {"dangling": None, "personalization": None, **asked, **changed}
        meant["weight"] = "weight" if meant.pop("weighted", False) else None
        if meant["dangling"] == "personalization":
            meant["dangling"] = None
        expected = nx.pagerank(peer, alpha=0.9, tol=1e-13, max_iter=1000, **meant)
        np.testing.assert_allclose(found["pagerank"], [expected[v] for v in found["vertex"]], rtol=1e-9, atol=1e-11)
        assert found["pagerank"].sum() == pytest.approx(1)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0].get('parts', 1)}-{way[1]['engine']}")
def test_many_personalizations_give_a_vector(way):
    graph, _ = graph_of(**way[0])
    wanted = [JUMPS, {0: 1}, {1: 1, 2: 1}]
    run = partial(dg.pagerank, graph, weighted=True, **way[1])
    table, result = run(personalization=wanted).compute(), run(personalization=wanted)
    alone = [run(personalization=one) for one in wanted]
    values, expected = np.stack(table["pagerank"]).T, [one.by_number("pagerank") for one in alone]
    np.testing.assert_allclose(values, expected, rtol=1e-12)  # also where one is at rest before the others
    assert len({one.rounds for one in alone}) > 1
    np.testing.assert_allclose(result.totals["change"], [one.totals["change"] for one in alone], atol=1e-6 * 41)
    assert result.by_number("pagerank").shape == (41, 3)
    assert result.rounds == max(one.rounds for one in alone)
    assert list(result.frame.compute()) == ["vertex", "pagerank"]


@pytest.mark.parametrize("kind", ["directed", "undirected"])
@pytest.mark.parametrize("parts", [1, 3])
def test_a_fixed_number_of_rounds_matches_ldbc(kind, parts):
    folder = DATA / "ldbc_example"
    if not folder.is_dir():
        pytest.skip(f"shared/data is not here: looked in {DATA}")
    graph = dg.read_edges(folder / f"example-{kind}.properties", parts=parts)
    expected = pd.read_csv(folder / f"example-{kind}-PR", sep=" ", names=["vertex", "rank"])
    said = (folder / f"example-{kind}.properties").read_text()
    rounds = int(said.split("pr.num-iterations =")[1].split()[0])
    found = dg.pagerank(graph, max_iter=rounds, tol=None).compute()
    assert found["vertex"].tolist() == expected["vertex"].tolist()
    np.testing.assert_allclose(found["pagerank"], expected["rank"], rtol=1e-12)


@pytest.mark.parametrize("name", ["wave", "p2p-31", "email-Eu-core"])
def test_a_tolerance_leads_to_the_fixed_point(name):
    real = real_graph(name)
    found = dg.pagerank(real.graph(parts=1), tol=1e-11, max_iter=300, engine="local")
    np.testing.assert_allclose(found.by_number("pagerank"), real.expected["pagerank"], atol=1e-9)
    assert found.rounds < 300
    assert found.totals["change"] < 1e-11 * 0.15 / 0.85


@pytest.mark.parametrize("options", [{}, {"personalization": [{v: 1} for v in range(4)]}, {"dangling": "none"}])
@pytest.mark.parametrize("alpha", [0.2, 0.85, 0.97])
def test_the_fixed_point_is_as_near_as_asked(alpha, options):
    """All ranks together are, however large the graph is."""
    graph, options = dg.rmat(scale=12, seed=3), {"alpha": alpha, "max_iter": 1000, **options}
    closest = np.stack(dg.pagerank(graph, tol=1e-13, **options).compute()["pagerank"])
    for where in (graph, dg.rmat(scale=12, seed=3, parts=2)):
        found = np.stack(dg.pagerank(where, **options).compute()["pagerank"])
        assert (np.abs(found - closest).sum(axis=0) <= 1e-6).all()


@pytest.mark.parametrize("options", [{}, {"personalization": {7: 1}}, {"dangling": "none"}, {"weighted": True}])
def test_without_rounds_a_run_starts_from_the_previous_ranks(monkeypatch, options):
    """In as many runs as large graphs take, and then with far fewer looks at the edges than in two."""
    graphs = [dg.rmat(scale=10, seed=3, weights=(1, 9), parts=parts, policy="incoming") for parts in (2, 3)]
    in_two = dg.pagerank(graphs[0], engine="bulk_async", tol=1e-7, **options)
    monkeypatch.setattr("dgraph.ops.residuals.LARGE_GRAPH", 0)
    closest = dg.pagerank(graphs[0], tol=1e-12, max_iter=1000, **options).by_number("pagerank")
    found = [dg.pagerank(graph, engine="bulk_async", tol=1e-7, **options) for graph in graphs]
    for one in found:
        assert np.abs(one.by_number("pagerank") - closest).sum() <= 1e-7
        assert list(one.frame.columns) == ["vertex", "pagerank"]
        assert one.rounds == one.report["superstep"].max()
    if "personalization" not in options:  # from one vertex all are far away
        assert found[0].report["edges"].sum() < in_two.report["edges"].sum() / 2


def test_unconverged_ranks_are_verified_to_their_reported_error():
    """With alpha near 1 a hundred rounds do not settle."""
    graph = dg.grid(rows=30, cols=30)
    for alpha in (0.95, 0.99):
        with pytest.warns(errors.UnsettledWarning, match=r"max_iter=100 iterations: .* changed them by") as told:
            found = dg.pagerank(graph, alpha=alpha)
        assert told[0].filename == __file__
        assert found.rounds == 100
        verify("pagerank", graph, found, alpha=alpha)
    with pytest.raises(errors.AnswerError, match="one more round"):
        verify("pagerank", graph, found, alpha=alpha, max_iter=2000)
    with pytest.warns(errors.UnsettledWarning):  # 32 bits come no nearer
        found = dg.pagerank(graph, tol=1e-9, dtype="float32")
    verify("pagerank", graph, found, tol=1e-9, rtol=1e-4)


@pytest.mark.parametrize("options", [{}, {"dtype": "float32"}, {"personalization": {0: 1, 5: 2}}, {"weighted": True}])
def test_threads_change_no_bit(monkeypatch, options):
    """Blocks of a few rows, so that threads take them in any order."""
    monkeypatch.setattr(gather, "GRAIN", 500)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("dgraph.native.threads.cores", lambda threads=threads: threads)
        graph = dg.rmat(scale=11, edge_factor=8, seed=2, weights=(1, 255))
        found += [dg.pagerank(graph, engine="local", **options) for _ in range(2)]
    for one in found[1:]:
        np.testing.assert_array_equal(one.by_number("pagerank"), found[0].by_number("pagerank"))
        assert (one.rounds, one.totals) == (found[0].rounds, found[0].totals)


@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-11), ("float32", 1e-4)])
def test_a_large_graph_on_two_threads_matches_power_iteration(monkeypatch, dtype, rtol):
    monkeypatch.setattr("dgraph.native.threads.cores", lambda: 2)
    graph = dg.rmat(scale=18, edge_factor=16, seed=3)
    found = dg.pagerank(graph, max_iter=20, tol=0, dtype=dtype, engine="local")
    frame = graph.edges.compute()
    source, destination = (frame[end].to_numpy() for end in frame.columns[:2])
    expected = iterated(source, destination, graph.num_vertices, rounds=20)
    np.testing.assert_allclose(found.by_number("pagerank"), expected, rtol=rtol)
    assert found.rounds == 20


@pytest.mark.parametrize("skewed", [True, False])
def test_a_layout_groups_by_degree_and_keeps_the_order(monkeypatch, skewed):
    monkeypatch.setattr(gather, "GRAIN", 500)
    graph = dg.rmat(scale=9, edge_factor=12, seed=5) if skewed else dg.uniform(vertices=512, edges=6000, seed=5)
    table = graph.partitioned(("incoming",), ()).held[0].incoming
    layout = gather.lay_out(table, None, 3)
    edges = layout.edges
    assert sorted(layout.rows.tolist()) == list(range(512))
    assert layout.degree.tolist() == np.bincount(table.neighbours, minlength=512)[layout.rows].tolist()
    lengths = np.diff(table.indptr)
    assert np.diff(edges.indptr).tolist() == lengths[layout.rows].tolist()
    place = np.argsort(layout.rows)
    for i, v in enumerate(layout.rows.tolist()):
        senders = table.neighbours[table.indptr[v] : table.indptr[v + 1]]
        assert edges.senders[edges.indptr[i] : edges.indptr[i + 1]].tolist() == place[senders].tolist()
    assert len(edges.cuts) > 5
    least = np.inf
    for lo, hi in zip(edges.cuts[:-1], edges.cuts[1:], strict=True):
        block = layout.rows[lo:hi].astype(int)
        assert (np.diff(np.minimum(lengths[block], 32)) <= 0).all()
        if skewed:  # the busiest come first, as far as classes tell
            assert layout.degree[lo:hi].max() <= 1.5 * least
            least = layout.degree[lo:hi].min()
        else:
            assert sorted(block) == list(range(lo, hi))


@pytest.mark.parametrize("parts", [1, 3])
def test_weights_that_cannot_be_followed_are_refused(parts):
    frame = FRAME.assign(weight=np.where(np.arange(len(FRAME)) == 5, -2.5, 1))
    graph = dg.Graph.from_edges(frame, weight="weight", parts=parts)
    assert dg.pagerank(graph).compute()["pagerank"].sum() == pytest.approx(1)
    with pytest.raises(errors.WeightError, match=r"of -2.5: weighted PageRank needs"):
        dg.pagerank(graph, weighted=True)
    with pytest.raises(errors.ColumnError, match="weight="):
        dg.pagerank(dg.Graph.from_edges(frame[["src", "dst"]], parts=parts), weighted=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 1.5}, "alpha=1.5"),
        ({"alpha": "x"}, "alpha='x'"),
        ({"alpha": None}, "alpha=None"),
        ({"max_iter": 2.5}, "max_iter=2.5"),
        ({"max_iter": True}, "max_iter=True"),
        ({"tol": -1}, "tol=-1"),
        ({"tol": float("nan")}, "tol=nan"),
        ({"dtype": "float16"}, "dtype='float16'"),
        ({"dtype": np.zeros(2)}, "dtype=array"),
        ({"personalization": {3: -1, 4: 2}}, "personalization={3: -1, 4: 2}"),
        ({"personalization": {3: "a"}}, "the weight of 3 is 'a'"),
        ({"dangling": {3: None}}, "the weight of 3 is None"),
        ({"personalization": {}}, "must be finite and non-negative"),
        ({"personalization": {3: 1, 4: np.nan}}, "finite"),
        ({"weighted": "no"}, "weighted='no' must be True or False"),
        ({"personalization": []}, "at least one"),
        ({"personalization": [{3: 1}, 4]}, "personalization=4"),
        ({"personalization": 7}, "personalization=7"),
        ({"personalization": {1000: 1}}, "no vertex 1000"),
        ({"dangling": "anywhere"}, "dangling='anywhere'"),
        ({"dangling": {3: 0}}, "dangling={3: 0}"),
        ({"dangling": "personalization"}, "needs personalization="),
        ({"dangling": {1000: 1}}, "no vertex 1000"),
    ],
)
def test_invalid_options_are_refused(options, words):
    with pytest.raises(errors.InputError, match=words):
        dg.pagerank(graph_of()[0], **options)


def test_only_the_proportion_of_weights_counts():
    graph = graph_of()[0]
    large, small = (dg.pagerank(graph, personalization={3: w, 4: w}).compute() for w in (1e308, 1.0))
    pd.testing.assert_frame_equal(large, small)


@pytest.mark.parametrize("engine", ["local", "gas", "bulk_async"])
def test_attributes_of_the_vertices_do_not_matter(engine):
    edges = pd.DataFrame({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 3]})
    names = ["restart", "spread", "known", "left", "strength"]
    vertices = pd.DataFrame({"id": range(4), **dict.fromkeys(names, np.inf)})
    bare, dressed = (dg.Graph.from_edges(edges, vertices=given, parts=1) for given in (None, vertices))
    found, expected = (dg.pagerank(graph, engine=engine).compute()["pagerank"] for graph in (dressed, bare))
    assert found.tolist() == expected.tolist()
