"""Plots: every one draws, what it draws is SVG and PNG, and without matplotlib the error says what to install."""

import sys
from xml.etree import ElementTree

import pytest
from matplotlib.container import BarContainer

from dgraph.bench.plots import plot
from dgraph.bench.plots.style import Drawing, line_of
from dgraph.display.plot_style import COLOURS
from dgraph.errors import OptionError

TRIALS = [
    {"operation": operation, "setting": setting, "workers": workers, "run": seconds * trial / workers}
    for operation, seconds in (("bfs", 0.2), ("wcc", 0.4))
    for setting in ("on", "off")
    for workers in (1, 2)
    for trial in (1, 2, 3)
]


@pytest.mark.parametrize("name", ["bars", "lines"])
def test_a_plot_of_trials_is_a_picture_and_a_text(name, tmp_path):
    draw, reads = plot(name)
    text = draw(TRIALS, tmp_path / "plot.png", title="Seconds of each")
    assert reads == "trials"
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    words = "".join(ElementTree.fromstring(text).itertext())
    assert all(word in words for word in ("Seconds of each", "bfs", "wcc"))


def test_each_case_has_its_own_bar():
    """Also where engines, graphs or workers differ beside the settings; what goes with the setting is not repeated."""
    draw, _ = plot("bars")

    def words(rows):
        return {word.strip() for word in ElementTree.fromstring(draw(rows)).itertext() if word.strip()}

    assert {f"{setting}, workers {count}" for setting in ("on", "off") for count in (1, 2)} <= words(TRIALS)
    engines = [
        {**row, "setting": "", "workers": 0, "engine": "gas" if row["workers"] == 1 else "bsp"} for row in TRIALS
    ]
    assert {"gas", "bsp"} <= words(engines)
    replaced = [{**row, "workers": 0, "engine": {"on": "gas", "off": "bsp"}[row["setting"]]} for row in TRIALS]
    assert {"on", "off"} <= words(replaced) and not any("gas" in word for word in words(replaced))


@pytest.mark.parametrize(("unit", "slowest"), [("seconds", 100.0), ("edges/s", 1.0)])
def test_a_bar_is_a_median_with_quartiles_and_a_mark_for_the_slowest_trial(monkeypatch, unit, slowest):
    kept = []
    monkeypatch.setattr(Drawing, "save", lambda drawing, path: kept.extend(drawing.axes))
    draw, _ = plot("bars")
    draw([{**TRIALS[0], "run": run} for run in (1.0, 2.0, 3.0, 4.0, 100.0)], unit=unit)
    (axes,) = kept
    (bars,) = [one for one in axes.containers if isinstance(one, BarContainer)]
    (low, _), (high, _) = bars.errorbar.lines[2][0].get_segments()[0]
    assert (bars.patches[0].get_width(), low, high) == (3, 2, 4)
    assert axes.lines[-1].get_xdata().tolist() == [slowest]


def test_lines_are_drawn_per_graph_beside_a_constant_level():
    """Epochs by block size, of two graphs; rounds have no blocks."""
    draw, _ = plot("lines")
    sized = [{"setting": f"by {size}", "order": "cyclic", "block_size": size, "epochs": 40 / size} for size in (8, 64)]
    rows = [
        {**row, "graph": graph} for graph in ("grid", "rmat") for row in [*sized, {"setting": "rounds", "epochs": 9}]
    ]
    text = draw(rows, x="block_size", value="epochs", by="order", across="graph")
    words = [word.strip() for word in ElementTree.fromstring(text).itertext() if word.strip()]
    assert {"grid", "rmat", "cyclic", "rounds", "block size", "64"} <= set(words)
    assert (words.count("rounds"), words.count("block size")) == (1, 2)


def test_idle_busy_plots_show_waiting_only_where_it_was_reported(tmp_path):
    """A report without waiting, beside one with, of two trials."""
    draw, reads = plot("idle_busy")
    rows = [
        {"operation": "bfs", "engine": engine, "trial": trial, "superstep": 1, "partition": part, "busy": 1.0, **rest}
        for engine, rest in (("bsp", {"idle": 2.0}), ("bulk_async", {"idle": 0.5, "wait": 0.25}))
        for trial in (1, 2)
        for part in (0, 1)
    ]
    words = "".join(ElementTree.fromstring(draw(rows, tmp_path / "plot.png")).itertext())
    assert reads == "report"
    assert all(word in words for word in ("bfs", "bulk_async", "busy", "wait", "idle", "seconds"))
    assert "wait" not in "".join(ElementTree.fromstring(draw(rows[:4])).itertext())


def test_convergence_has_a_line_for_each_setting_and_axes_for_each_operation():
    rows = [
        {"operation": operation, "setting": setting, "epochs": float(epoch), "residual": 0.5**epoch}
        for operation in ("pagerank", "katz")
        for setting in ("priority", "cyclic")
        for epoch in range(1, 5)
    ]
    draw, reads = plot("convergence")
    words = "".join(ElementTree.fromstring(draw(rows, title="Faster by priority")).itertext())
    assert reads == "report"
    assert all(word in words for word in ("Faster by priority", "pagerank", "katz", "priority", "cyclic", "epochs"))


def test_lines_with_the_same_colour_have_different_styles():
    names = [f"case {i}" for i in range(4 * len(COLOURS))]
    assert len({tuple(look.items()) for look in line_of(names).values()}) == len(names)


def test_the_same_picture_is_the_same_text():
    draw, _ = plot("bars")
    assert draw(TRIALS) == draw(TRIALS)


def test_an_invalid_plot_is_refused():
    with pytest.raises(OptionError, match=r"'style' is not a plot; choose from .*bars.*lines"):
        plot("style")


def test_without_matplotlib_the_error_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptionError, match=r"pip install 'dask-dgraph\[bench\]'"):
        Drawing("anything").__enter__()
