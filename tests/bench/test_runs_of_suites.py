"""`dgraph bench` from a suite to a report: what is measured, what is written, and when it fails."""

import importlib.util
import json
import sys
from functools import wraps
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd

import dgraph as dg
from dgraph.bench import records
from dgraph.bench.outcome import STYLE
from dgraph.bench.plots.style import Drawing
from dgraph.bench.suite import open_suite, shipped
from dgraph.display.plot_style import FAINT, INK
from dgraph.display.plot_style import STYLE as OF_PLOTS

ROOT = Path(__file__).parents[2]
TICKS = OF_PLOTS["xtick.color"]


class Page(HTMLParser):
    """The words of a page; every tag that is opened is closed."""

    VOID = ("meta", "path", "use", "rect", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        assert not any(value and value.startswith("http") for name, value in attributes if name in ("src", "href"))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_a_run_of_a_suite_writes_all_its_files(run, tiny, tmp_path):
    done = run(f"bench {tiny} -o out --check")
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == "rounds: 16 (at most 1,000: met)"
    heading, *rest = records.read(str(tmp_path / "out"))
    assert heading["machine"] and heading["versions"]["dgraph"] == dg.__version__
    trials = [row for row in rest if row["kind"] == "trial"]
    assert len(trials) == 2 * 2 * 2 + 2 * 2  # sources, graphs, settings of hops; settings, trials of wcc
    for row in trials:
        assert all(row[figure] > 0 for figure in ("load", "build", "run", "peak", "bytes", "rounds", "evps"))
        assert (row["num_parts"], row["partitions"], row["replication"] > 1) == (2, 2, True)
        assert ("teps" in row) == (row["operation"] == "hops")
    edges, rounds = (row for row in rest if row["kind"] == "target")
    assert (edges["met"], edges["paper"], set(edges["each"])) == (True, "more", {"rmat", "grid"})
    assert rounds["met"] is True
    text = Page((tmp_path / "out/report.html").read_text())
    assert text.tags.count("svg") == 1
    assert {"A tiny suite", "Two are more than one.", "more", "met", "hops"} <= set(text.words)
    assert (tmp_path / "out/1-bars.png").read_bytes().startswith(b"\x89PNG")
    supersteps = pd.read_csv(tmp_path / "out/supersteps.csv")
    assert {"superstep", "partition", "busy", "operation", "setting"} <= set(supersteps.columns)


def test_a_missed_target_is_reported(run, tiny):
    tiny.write_text(tiny.read_text().replace("at_least = 1.0", "at_least = 1000"))
    short = f"bench {tiny} --operation hops --graph grid --trials 1"
    assert run(short).exit_code == 0
    done = run(f"{short} --check --json")
    told = [json.loads(line) for line in done.output.splitlines()]
    assert done.exit_code == 1
    assert [row["kind"] for row in told] == ["suite", "trial", "trial", "target", "target"]
    assert [row["met"] for row in told[-2:]] == [False, True]


def test_a_wrong_answer_stops_the_run(run, tiny, monkeypatch):
    right = dg.wcc
    monkeypatch.setattr(dg, "wcc", lambda graph, **options: right(dg.rmat(scale=6, edge_factor=1), **options))
    done = run(f"bench {tiny} --operation wcc --debug")
    assert done.exit_code == 1 and "AnswerError: operation wcc, graph grid" in done.output


def test_the_report_and_its_plots_have_the_colours_of_the_site():
    spec = importlib.util.spec_from_file_location("canvas", ROOT / "docs" / "pictures" / "canvas.py")
    canvas = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(canvas)
    for colours in (canvas.LIGHT, canvas.DARK):
        for name in ("ink", "faint", "pale", "line"):
            assert f"--{name}: {colours[name]};" in STYLE
    with Drawing("speed") as drawing:  # Matplotlib's colours, which the picture replaces in the dark
        drawing.axes[0].plot([1, 2], [3, 4])
        picture = drawing.save()
    for colours in (canvas.LIGHT, canvas.DARK):
        ours = (("ink", "ink"), ("faint", "faint"), ("paper", "card"), ("line", "line"))
        assert "; ".join(f"--{name}: {colours[theirs]}" for name, theirs in ours) in picture
    for kind, colour in (("fill", INK), ("stroke", FAINT), ("fill", "#ffffff"), ("fill", TICKS), ("stroke", TICKS)):
        assert f"{kind}: {colour}" in picture and f'[style*="{kind}: {colour}"]' in picture, colour


def test_without_matplotlib_there_are_no_plots_and_it_says_so(run, tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run(f"bench {tiny} --operation wcc --trials 1 -o out")
    assert "pip install 'dask-dgraph[bench]'" in done.output
    assert "No plots" in "".join(Page((tmp_path / "out/report.html").read_text()).words)
    assert not list((tmp_path / "out").glob("*.png"))


def test_a_suite_runs_on_a_cluster(run, tiny, client):
    done = run(f"bench {tiny} --operation wcc --trials 1 --cluster {client.scheduler.address} --json")
    rows = [json.loads(line) for line in done.output.splitlines()]
    assert [(row["workers"], row["run"] > 0) for row in rows if row["kind"] == "trial"] == [(2, True), (2, True)]


def test_every_suite_of_the_package_can_be_read(run):
    for name, title in shipped().items():
        assert open_suite(name).title == title
        assert f"{name} " in run("bench --list").output


RATINGS = """
title = "Factors of ratings"
about = "How near they come."
trials = 1

[graphs.ratings]
generate = "ratings"
users = 60
items = 30
ratings = 900

[operations.factorize]
epochs = 3

[settings.held_out]
[settings.all]
test = 0.0
"""


def test_bench_measures_and_verifies_factors_of_ratings(run, tmp_path, monkeypatch):
    (tmp_path / "ratings.toml").write_text(RATINGS)
    done = run("bench ratings.toml -o out")
    assert done.exit_code == 0, done.output
    held_out, every = (row for row in records.read(str(tmp_path / "out")) if row["kind"] == "trial")
    assert 0 < held_out["rmse"] < held_out["held_out"] and "held_out" not in every
    assert (held_out["rounds"], held_out["num_vertices"]) == (3, 90)
    honest = dg.factorize

    @wraps(honest)
    def boastful(graph, **options):
        result = honest(graph, **options)
        result.totals.update(rmse=0.01, held_out=0.01)
        return result

    monkeypatch.setattr(dg, "factorize", boastful)
    assert "the root mean square error is" in run("bench ratings.toml").output
