"""Plots of results, reports and graphs: they draw the right numbers, and gather no vertices."""

import os
import subprocess
import sys

import matplotlib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import dgraph as dg
from dgraph.display.graph_plot import MOST_VERTICES
from dgraph.display.layout import places
from dgraph.errors import ColumnError, OptionError
from dgraph.runs.worker_results import WorkerResult

matplotlib.use("Agg")
STAR = {"src": [0, 0, 0, 0], "dst": [1, 2, 3, 4]}


@pytest.fixture(autouse=True)
def figures_are_closed():
    yield
    pyplot.close("all")


@pytest.fixture(params=["here", "on the cluster"])
def graph(request):
    client = None if request.param == "here" else request.getfixturevalue("client")
    return dg.rmat(scale=8, edge_factor=4, seed=1, parts=3, client=client)


def line(ax):
    return ax.lines[0].get_data()


def test_centralities_are_shown_by_rank(graph):
    result = dg.pagerank(graph)
    ax = result.plot()
    values = np.sort(result.by_number("pagerank"))[::-1]
    ranks, shown = line(ax)
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_ylabel()) == ("log", "log", "pagerank")
    assert ranks.max() == len(values) and ranks.min() == 1
    assert [(values >= one * (1 - 1e-12)).sum() for one in shown] == ranks.tolist()


def test_components_are_shown_by_their_sizes(graph):
    result = dg.wcc(graph)
    sizes = result.compute()["component"].value_counts().to_numpy()
    ranks, shown = line(result.plot())
    assert [sizes[rank - 1] for rank in ranks] == shown.tolist()
    assert ranks[-1] == len(sizes)
    assert f"256 vertices in {len(sizes)} groups" in pyplot.gca().get_title(loc="left")


def test_distances_are_shown_as_a_histogram(graph):
    result = dg.bfs(graph, 0)
    hops = result.by_number("distance")
    ax = result.plot()
    assert [bar.get_height() for bar in ax.patches] == np.bincount(hops[np.isfinite(hops)].astype(int)).tolist()
    assert f"({np.isinf(hops).sum()} infinite)" in ax.get_title(loc="left")


def test_core_numbers_have_a_bar_each_and_flags_have_names(graph):
    cores = dg.core_number(graph)
    bars = cores.plot().patches
    assert [bar.get_height() for bar in bars] == np.bincount(cores.by_number("core")).tolist()
    ax = dg.maximal_independent_set(graph).plot()
    assert [one.get_text() for one in ax.get_xticklabels()] == ["False", "True"]


def test_a_vertex_without_a_predecessor_is_in_no_group():
    graph = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 3]}, directed=False)
    result = dg.bfs(graph, 0)
    ax = result.plot("predecessor")
    assert "3 vertices in 3 groups" in ax.get_title(loc="left")  # the source has no predecessor


def test_plots_on_a_cluster_gather_counts_only(client, monkeypatch):
    """Nothing that comes to this process is as long as the vertices."""
    graph = dg.rmat(scale=14, edge_factor=2, seed=1, client=client)
    results = dg.pagerank(graph), dg.wcc(graph), dg.bfs(graph, 0)
    fetched, bring = [], type(graph.workers).bring

    def watch(self, held):
        fetched.append(bring(self, held))
        return fetched[-1]

    monkeypatch.setattr(type(graph.workers), "bring", watch)
    for result in results:
        result.plot()
    graph.plot()
    assert fetched

    def largest(value):
        assert not isinstance(value, WorkerResult | pd.DataFrame)
        if isinstance(value, list | tuple):
            return max(map(largest, value), default=0)
        return value.size if isinstance(value, np.ndarray) else 1

    assert largest(fetched) <= 500


@pytest.mark.parametrize("kind", ["histogram", "rank"])
def test_the_user_may_choose_the_kind(kind):
    ax = dg.degrees(dg.rmat(scale=8, edge_factor=4, seed=1)).plot("in_degree", kind=kind)
    assert bool(ax.patches) == (kind == "histogram") and bool(ax.lines) == (kind == "rank")


def test_equal_values_are_drawn():
    ring = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]})
    ranks, values = line(dg.pagerank(ring).plot())
    assert ranks.tolist() == [3] and values == pytest.approx([1 / 3])
    assert dg.pagerank(ring).plot(kind="histogram").patches[0].get_height() == 3


def test_axes_of_the_user_are_drawn_on_and_returned():
    _, (left, right) = pyplot.subplots(1, 2)
    graph = dg.Graph.from_edges(STAR)
    assert dg.pagerank(graph).plot(ax=right) is right and not left.has_data()
    assert dg.pagerank(graph).report.plot(ax=left) is left
    assert len(pyplot.get_fignums()) == 1


def test_what_a_notebook_sets_when_its_first_figure_is_drawn_stays_set(tmp_path):
    """Its backend becomes interactive when it is loaded; otherwise it shows no later figure."""
    (tmp_path / "of_notebook.py").write_text(
        "import matplotlib\nfrom matplotlib.backends.backend_agg import *\nmatplotlib.interactive(True)\n"
    )
    code = (
        "import matplotlib; from dgraph.display.plot_style import axes_for\n"
        "with axes_for(None): pass\n"
        "print(matplotlib.get_backend(), matplotlib.is_interactive())"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    env = {**os.environ, "PYTHONPATH": path, "MPLBACKEND": "module://of_notebook"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.split() == ["module://of_notebook", "True"], done.stderr


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda g: dg.pagerank(g).plot("rank"), ColumnError, "no column 'rank'; it has pagerank"),
        (lambda g: dg.fast_rp(g, dimensions=4).plot(), ColumnError, "holds vectors"),
        (lambda g: dg.pagerank(g).plot(kind="pie"), OptionError, "kind='pie'"),
        (lambda g: dg.pagerank(g).plot(ax=3), OptionError, "ax=3 must be Axes"),
        (lambda g: dg.wcc(g).plot(kind="histogram"), OptionError, "whose groups are shown by rank"),
        (lambda g: g.plot(kind="degrees", color=dg.wcc(g)), OptionError, "color= is for drawings"),
        (lambda g: g.plot(color=dg.wcc(dg.grid(rows=2, cols=2))), OptionError, "result of other vertices"),
        (lambda g: g.plot(color=[1, 2]), OptionError, "color=<list> must be a result"),
        (lambda g: dg.rmat(scale=10, edge_factor=2).plot(kind="drawing"), OptionError, "dgraph.ego"),
        (lambda g: dg.pagerank(g).report.plot(by="worker"), OptionError, "by='worker'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, error, said):
    with pytest.raises(error, match=said.replace("(", r"\(")):
        call(dg.Graph.from_edges(STAR))
    assert not pyplot.get_fignums()


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    graph = dg.Graph.from_edges(STAR)
    result = dg.pagerank(graph)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in (graph.plot, result.plot, result.report.plot, graph.partitions.report.plot):
        with pytest.raises(OptionError, match=r"not installed: pip install 'dask-dgraph\[plots\]'"):
            plot()


# -- reports -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["bsp", "gas", "bulk_async", "block_descent"])
def test_a_report_is_drawn_by_superstep_and_by_partition(engine):
    report = dg.pagerank(dg.rmat(scale=8, edge_factor=4, seed=1, parts=2), engine=engine).report
    ax = report.plot()
    fired = next(one for one in ax.lines if one.get_label() == "fired").get_ydata()
    assert fired.tolist() == report.groupby("superstep")["fired"].sum().tolist()
    parts = report.plot(by="partition")
    ends = [path.vertices[:, 0].max() for bars in parts.collections for path in bars.get_paths()]
    seconds = report.reindex(columns=["busy", "wait", "idle"]).fillna(0).sum(axis=1)
    assert max(ends) == pytest.approx(seconds.groupby(report["partition"]).sum().max())


# -- graphs ------------------------------------------------------------------------------------------------------------


def test_degrees_of_a_large_graph_are_counted(graph):
    ax = graph.plot(kind="degrees")
    table = dg.degrees(graph).compute()
    for drawn, name in zip(ax.lines, ("out_degree", "in_degree"), strict=True):
        counts = table[name].value_counts().sort_index()
        degrees, vertices = drawn.get_data()
        assert dict(zip(degrees, vertices, strict=True)) == counts[counts.index > 0].to_dict()
        assert f"{counts[0]} have none" in drawn.get_label()


def test_undirected_graphs_have_one_degree():
    ax = dg.Graph.from_edges(STAR, directed=False).plot(kind="degrees")
    (drawn,) = ax.lines
    assert drawn.get_xydata().tolist() == [[1, 4], [4, 1]]


def test_a_small_graph_is_drawn_with_ids_and_colours():
    graph = dg.Graph.from_edges({"src": ["a", "b", "<$x$"], "dst": ["b", "c", "<$x$"]})
    ax = graph.plot(color=dg.wcc(graph))
    assert {one.get_text() for one in ax.texts} == {"a", "b", "c", "<$x$", ""}  # "" are the arrows
    assert [one.get_text() for one in ax.get_legend().get_texts()] == ["3", "1"]
    ranked = graph.plot(color=dg.hits(graph).column("authority"))
    assert ranked.figure.axes[1].get_ylabel() == "authority"


def test_unreachable_vertices_are_drawn_grey():
    graph = dg.Graph.from_edges({"src": [0, 2], "dst": [1, 3]})
    dots = next(one for one in graph.plot(color=dg.bfs(graph, 0)).collections if one.get_array() is not None)
    assert np.ma.getmaskarray(np.ma.masked_invalid(dots.get_array())).tolist() == [False, False, True, True]


def test_small_graphs_on_a_cluster_are_drawn(client):
    graph = dg.Graph.from_edges(STAR, client=client, directed=False)
    assert len(graph.plot(color=dg.wcc(graph)).texts) == 5


@pytest.mark.parametrize("vertices", [0, 1, MOST_VERTICES])
def test_a_graph_without_edges_is_drawn(vertices):
    where = places(np.zeros(0, int), np.zeros(0, int), vertices)
    assert where.shape == (vertices, 2) and np.isfinite(where).all() and (abs(where) <= 1).all()


def test_places_are_as_far_apart_as_paths_are_long():
    path = np.arange(9)
    where = places(path, path + 1, 10)
    apart = np.linalg.norm(where[:, None] - where[None], axis=2)
    hops = abs(np.subtract.outer(np.arange(10), np.arange(10)))
    assert np.corrcoef(apart.ravel(), hops.ravel())[0, 1] > 0.99
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 6))
    ends = np.array(grid.edges)
    where = places(ends[:, 0], ends[:, 1], 36)
    lengths = np.linalg.norm(where[ends[:, 0]] - where[ends[:, 1]], axis=1)
    assert lengths.max() < 3 * lengths.min()
    assert (where == places(ends[:, 0], ends[:, 1], 36)).all()
