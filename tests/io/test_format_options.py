"""Options of formats as values, and how those of before, or misspelt ones, lead to them."""

import pytest

import dgraph as dg
from dgraph.errors import OptionError
from dgraph.io.format_options import OPTIONS
from dgraph.io.lazy_edges import lazy_edge_list


@pytest.fixture
def roads(tmp_path):
    path = tmp_path / "roads.csv"
    path.write_text("from;to;km\na;b;5\nb;c;7\n")
    return path


@pytest.mark.parametrize("lazy", [False, True, None])
def test_text_options_control_the_delimiter_and_header(roads, lazy):
    graph = dg.read_edges(roads, format=dg.Text(delimiter=";", header=False, lazy=lazy), weight=None)
    assert (graph.num_vertices, graph.num_edges) == (5, 3)  # the first line is an edge
    graph = dg.read_edges(roads, format=dg.Text(header=True, lazy=lazy), weight="km")
    assert dg.sssp(graph, "a").compute()["distance"].tolist() == [0, 5, 12]


def test_the_block_size_option_sets_the_number_of_blocks(roads):
    def pieces(**options):
        return lazy_edge_list(roads, format=dg.Text(**options)).edges.npartitions

    assert (pieces(), pieces(block_size=3)) == (1, 4)


@pytest.mark.parametrize("lazy", [False, True])
def test_the_format_wel_has_weights_under_any_name(tmp_path, lazy):
    (tmp_path / "a.txt").write_text("0 1 5\n1 2 7\n")
    assert dg.read_edges(tmp_path / "a.txt", format="wel").weight == "weight"
    assert dg.read_edges(tmp_path / "a.txt", format=dg.Text(lazy=lazy), weight=2).weight == "weight"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"delimiter": ";"}, "^delimiter=';' is an option of the format: write format=dg.Text\\(delimiter=';'\\)$"),
        ({"sep": ";"}, "^sep=';' is an option of the format: write format=dg.Text\\(delimiter=';'\\)$"),
        ({"header": True, "blocksize": 9}, "write format=dg.Text\\(header=True, block_size=9\\)$"),
        ({"lazy": False}, "write format=dg.Text\\(lazy=False\\) or format=dg.Parquet\\(lazy=False\\)$"),
        ({"weights": "km"}, "weights='km': read_edges has no such option; did you mean weight="),
        ({"qqq": 1}, "qqq=1: read_edges has no such option; its options are path, format, source,"),
        ({"format": dg.Text}, "^format=dg.Text is a class; write dg.Text\\(\\) or 'text'$"),
        ({"format": dg.Gas()}, "^format=dg.Gas\\(\\) is not a format; pass a name, dg.Text\\(...\\) or dg.Parquet"),
        ({"format": "cvs"}, "unknown format='cvs'"),
    ],
)
def test_read_edges_refuses_invalid_options(roads, given, says):
    with pytest.raises(OptionError, match=says):
        dg.read_edges(roads, **given)


def test_every_option_of_a_format_is_refused_elsewhere(roads):
    for name in OPTIONS:
        with pytest.raises(OptionError, match=f"write format=dg.Text\\({name}=True\\)"):
            dg.read_edges(roads, **{name: True})
