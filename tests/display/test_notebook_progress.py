"""Progress in a notebook: an output of the cell that is replaced, and is gone in the end unless it was asked for."""

import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

import dgraph as dg
from dgraph.runs import progress
from dgraph.runs.progress import ProgressLine, in_notebook


class Cell:
    """The output of a cell, and what it has shown. It stands for IPython, which need not be installed."""

    def __init__(self):
        self.shown = []

    def display(self, output, *, raw, display_id):
        assert raw and display_id and not self.shown
        self.update(output, raw=raw)
        return self

    def update(self, output, *, raw):
        assert raw
        self.shown.append(output)

    @property
    def texts(self):
        return [one["text/plain"] for one in self.shown]


@pytest.fixture
def cell(monkeypatch):
    cell = Cell()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, __path__=[]))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=cell.display))
    monkeypatch.setattr(progress, "EVERY", 0.0)
    return cell


def run(**options):
    return dg.pagerank(dg.rmat(scale=8, edge_factor=8, seed=1, parts=2), engine="bsp", tol=0, max_iter=9, **options)


def test_a_run_in_a_notebook_shows_a_card_that_is_gone_in_the_end(cell, capsys):
    run()
    assert any("pagerank, superstep" in text for text in cell.texts)
    assert cell.shown[-1] == {"text/plain": "", "text/html": ""}
    assert capsys.readouterr().err == ""
    for one in cell.shown[:-1]:
        ElementTree.fromstring(one["text/html"])


def test_progress_that_is_asked_for_stays(cell):
    run(progress=True)
    assert cell.texts[-1].startswith("pagerank: 9 supersteps in")
    assert "<polyline" in cell.shown[-1]["text/html"]


def test_no_progress_shows_nothing(cell):
    run(progress=False)
    assert cell.shown == []


def test_while_the_graph_is_built_a_bar_shows_how_much_is_done(cell):
    line = ProgressLine("wcc")
    counts = {"superstep": 0, "fired": 0, "edges": 5_000_000, "bytes": 0, "seconds": 1.0}
    line.write(counts | {"building": "numbering <ids>", "done": 0.25})
    assert "width:25%" in cell.shown[-1]["text/html"] and "numbering &lt;ids&gt;" in cell.shown[-1]["text/html"]
    assert cell.texts[-1] == "wcc: numbering <ids>, 25% (5 M edges)"


def test_the_line_of_fired_vertices_has_those_between_two_looks(cell):
    line = ProgressLine("wcc")
    for superstep, fired in enumerate((100, 150, 160), 1):
        line.write({"superstep": superstep, "fired": fired, "edges": 0, "bytes": 0, "seconds": 1.0})
    assert "vertices fired in 3 looks: first 100, last 10" in cell.shown[-1]["text/html"]


def test_a_run_that_fails_leaves_no_card(cell):
    line = ProgressLine("wcc", stays=False)
    line.prepare("building partitions")
    line.timer.join()
    line.close()
    assert cell.texts == ["wcc: building partitions", ""]


@pytest.mark.parametrize("shell", [None, SimpleNamespace(), SimpleNamespace(kernel=None)])
def test_ipython_without_a_kernel_is_no_notebook(monkeypatch, shell):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert not in_notebook()
    monkeypatch.delitem(sys.modules, "IPython")
    assert not in_notebook()
