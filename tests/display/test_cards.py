"""Cards in notebooks: they show what is known, escape what users name, and start no work."""

import re
from html import unescape
from xml.etree import ElementTree

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.cluster.workers import Workers
from dgraph.display.html_pieces import POINTS, sparkline

HOSTILE = "<script>x</script>\x1b"
EDGES = {"src": [HOSTILE, "a", "b", "b"], "dst": ["a", "b", "c", "b"]}


def words(shown) -> str:
    """The text of a card, which must be well-formed."""
    root = ElementTree.fromstring(shown._repr_html_())
    root.remove(root.find("style"))
    return " ".join(root.itertext())


def cards():
    graph = dg.Graph.from_edges({**EDGES, "<i>km": [1, 2, 3, 4]}, weight="<i>km", parts=2)
    result = dg.bfs(graph, HOSTILE, engine="bsp")
    return {
        "graph": graph,
        "result": result,
        "report": result.report,
        "estimate": graph.estimate(workers=2),
        "validation": graph.validate(),
        "communities": dg.louvain(graph),
        "report of a solver": dg.wcc(dg.Graph.from_edges(EDGES)).report,
        "estimate that does not fit": graph.estimate("pagerank", workers=2, memory=1),
    }


@pytest.mark.parametrize("name", cards())
def test_a_card_is_well_formed_and_escapes_what_users_name(name):
    card = cards()[name]._repr_html_()
    ElementTree.fromstring(card)
    assert "<script" not in card and "<i>" not in card and "\x1b" not in card
    assert 'class="dgraph-card"' in card


@pytest.mark.parametrize("name", cards())
def test_the_lines_to_go_on_with_run(name):
    shown = cards()
    lines = unescape(re.search("<pre>(.*?)</pre>", shown[name]._repr_html_(), re.DOTALL)[1])
    assert lines.strip()
    names = {"dg": dg, "pd": pd, "G": shown["graph"], "frame": pd.DataFrame(EDGES), "vertex": "a"}
    of_result = shown["communities"] if name == "communities" else shown["result"]
    exec(lines, names | {"result": of_result, "report": shown["report"], "other": shown["report"]})


def test_the_card_of_a_graph_names_its_columns_and_sizes():
    text = words(cards()["graph"])
    assert "<i>km" in text and "vertices 4" in text and "edges 4" in text and "2 (built" in text


def test_the_card_of_a_graph_that_is_not_read_does_not_read_it():
    def fail(piece):
        raise AssertionError("read")

    meta = pd.DataFrame({"src": [0], "dst": [1]})
    graph = dg.Graph.from_edges(dd.from_map(fail, [0, 1], meta=meta))
    assert "not counted yet" in words(graph)
    assert not graph.input_edges.is_read


@pytest.mark.parametrize("rules", [{"repeats": "first"}, {"loops": "drop"}, {"symmetrize": True}])
def test_the_card_of_a_graph_shows_edges_once_they_are_counted(rules, monkeypatch):
    graph = dg.Graph.from_edges(EDGES, **rules)
    with monkeypatch.context() as patched:
        patched.setattr(Workers, "hold", None)
        assert "edges not counted yet" in words(graph)
    assert f"edges {graph.num_edges}" in words(graph)


def test_cards_of_graphs_and_results_on_a_cluster_send_nothing(client, monkeypatch):
    graph = dg.rmat(scale=8, edge_factor=8, seed=1, client=client)
    result = dg.pagerank(graph, engine="bsp")
    for name in ("hold", "bring", "_infos"):
        monkeypatch.setattr(Workers, name, None)
    assert "256" in words(graph) and "the workers of a Dask cluster" in words(graph)
    assert "on the workers that computed them" in words(result) and "result.frame" in words(result)
    assert "partition" in words(result.report)


def test_the_card_of_a_result_in_this_process_has_its_first_rows():
    result = dg.bfs(dg.Graph.from_edges(EDGES), "a")
    text = words(result)
    assert HOSTILE[:-1] in text and r"\x1b" in text and "inf" in text
    assert "and 3 more" in words(dg.wcc(dg.Graph.from_edges({"src": range(7), "dst": [*range(1, 8)]})))
    assert "nan" not in text and "<NA>" not in text


def test_the_card_of_a_result_of_a_saved_graph(tmp_path):
    graph = dg.Graph.from_edges(EDGES)
    graph.save(tmp_path / "saved", results={"hops": dg.bfs(graph, "a")})
    opened = dg.open_graph(tmp_path / "saved")
    assert str(tmp_path / "saved") in words(opened) and "edges 4" in words(opened)
    assert "distance (float64)" in words(opened.results["hops"])


def test_vectors_are_shown_with_their_length():
    assert "embedding (float32[8])" in words(dg.fast_rp(dg.Graph.from_edges(EDGES), dimensions=8))


def test_the_card_of_a_report_has_a_line_of_fired_vertices_and_totals():
    report = dg.pagerank(dg.rmat(scale=8, edge_factor=8, seed=1, parts=2), engine="bsp", tol=0, max_iter=9).report
    text = words(report)
    assert "vertices fired in 9 supersteps: first 256, last 256" in text
    assert "and 4 more" in text and "engine bsp" in text
    assert "<polyline" in report._repr_html_()


def test_the_card_of_an_estimate_says_what_to_do_if_no_policy_fits():
    assert "no policy fits: use at least" in words(cards()["estimate that does not fit"])
    assert 'policy="' in words(cards()["estimate"])


def test_the_card_of_a_validation_says_how_to_mend_what_is_unusual():
    graph = dg.Graph.from_edges({"src": [0, 1, 1], "dst": [0, 2, 2]}, vertices=[9])
    text = words(graph.validate())
    assert "dg.simplify(G)" in text and "dg.largest_component(G)" in text
    assert "self loops (1) are kept" in text and "triangles" in text


@pytest.mark.parametrize(
    ("values", "points", "by_log"),
    [([1, 2], 2, False), (range(1000), POINTS, False), ([1000.0, 10, 1], 3, True), ([1000, 0, 1], 3, False)],
)
def test_a_sparkline_is_short_and_logarithmic_over_orders_of_magnitude(values, points, by_log):
    line = ElementTree.fromstring(f"<p>{sparkline(list(values), 'fired', 'superstep')}</p>").find(".//polyline")
    places = np.array([one.split(",") for one in line.get("points").split()], float)
    assert len(places) == points and (np.diff(places[:, 0]) > 0).all()
    assert ("log scale" in sparkline(list(values), "fired", "superstep")) == by_log


@pytest.mark.parametrize("values", [[], [3], [np.nan, 1.0]])
def test_a_sparkline_of_one_number_is_left_out(values):
    assert sparkline(values, "fired", "superstep") == ""
