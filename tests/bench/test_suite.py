"""Suites in TOML: what is wrong with one is said with the file, the key and the remedy."""

import re
from pathlib import Path

import pytest

from dgraph.bench.cases import cases_of
from dgraph.bench.suite import open_suite
from dgraph.bench.targets import evaluate_targets
from dgraph.bench.toml_table import group_options
from dgraph.errors import FileError, OptionError
from dgraph.options import BlockDescent, Bsp, BulkAsync, Cuda, Daemons, Gas, Optimizations


def test_every_combination_is_a_case(tiny):
    suite = open_suite(str(tiny))
    found = [tuple(case.labels[axis] for axis in ("operation", "graph", "setting")) for case in cases_of(suite)]
    hops = [("hops", graph, setting) for graph in ("rmat", "grid") for setting in ("on", "off")]
    assert sorted(found) == sorted([*hops, ("wcc", "grid", "on"), ("wcc", "grid", "off")])
    assert {case.engine for case in cases_of(suite, {"setting": ("off",)})} == {"gas"}
    with pytest.raises(OptionError, match="tiny has no graph 'road'; it has rmat, grid"):
        cases_of(suite, {"graph": ("road",)})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "A tiny suite"', "", "title: is missing (add it: a string)"),
        ("trials = 2", 'trials = "3"', "trials: expected an integer, got '3'"),
        ("trials = 2", "trials = 0", "trials: 0 must be >= 1"),
        ("trials = 2", "trails = 3", "trails: unknown key (did you mean trials?)"),
        ("partitions = [2]", "partitions = []", "partitions: is empty"),
        ('generate = "rmat"', 'generate = "rmatt"', "[graphs.rmat] generate: 'rmatt' is not known (choose from rmat,"),
        ('generate = "rmat"', "", "[graphs.rmat] generate: needs exactly one of `generate` and `file`"),
        ("scale = 7", "scale = 7\nparts = 2", "[graphs.rmat] parts: cannot be set for a single graph"),
        ('operation = "bfs"', "", "[operations.hops] operation: 'hops' is not known"),
        ("sources = 2", "", "[operations.hops] sources: bfs needs a source vertex"),
        (
            "sources = 2",
            "sources = 2\ndept_limit = 3",
            "[operations.hops] dept_limit: unknown key (did you mean depth_",
        ),
        ('graphs = ["grid"]', 'graphs = ["road"]', "[operations.wcc] graphs: 'road' is not known"),
        (
            "active_only = false",
            "actve_only = false",
            "[settings.off] actve_only: unknown key (did you mean active_only",
        ),
        ("active_only = false", "active_only = 0", "[settings.off] active_only: active_only=0 "),
        ("active_only = false", 'order = "first"', "[settings.off] order: order='first' "),
        (
            "active_only = false",
            "block_size = 8",
            '[settings.off] block_size: needs engine = "block_descent", not "gas"',
        ),
        ("sources = 2", 'sources = 2\nmode = "bsp"', '[operations.hops] mode: needs engine = "block_descent", not "au'),
        ("active_only = false", "memory = 8", '[settings.off] memory: needs device = "cuda", not "auto"'),
        ("active_only = false", "cache = 0", '[settings.off] cache: needs daemons (add daemons = "own'),
        ("active_only = false", "block = 8", '[settings.off] block: needs daemons (add daemons = "own'),
        ('engine = "gas"', 'engine = "bulk_async"', "[settings.off] active_only: active_only=False is not av"),
        ("sources = 2", "sources = 2\nrandom_seed = 3", "[operations.hops] random_seed: unknown key"),
        ("sources = 2", "sources = 2\nvertex_cache = 0", "[operations.hops] vertex_cache: unknown key"),
        ("off / on", "off / out", "[targets, 1] ratio: 'off / out' must name two values of setting"),
        ("at_most = 1000", "at_mots = 1000", "[targets, 2] at_mots: unknown key (did you mean at_most?)"),
        (
            'where = { operation = "hops" }',
            'where = { operation = "x" }',
            "[targets, 1.where] operation: 'x' is not in",
        ),
        ('plot = "bars"', 'plot = "pie"', "[plots, 1] plot: 'pie' is not a plot; choose from"),
        ("[[plots]]", "[plots]", "plots: must be an array of tables (write [[plots]])"),
        ("[[plots]]", "[[plots", "is not TOML: "),
    ],
)
def test_errors_in_a_suite_are_named(tiny, old, new, message):
    assert old in tiny.read_text()
    tiny.write_text(tiny.read_text().replace(old, new, 1))
    with pytest.raises(FileError) as error:
        cases_of(open_suite(str(tiny)))
    assert str(error.value).startswith(f"{tiny}: {message}")


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        (
            {"direction": "pull", "lazy_upload": False},
            {"engine": Gas(direction="pull", optimizations=Optimizations(lazy_upload=False))},
        ),
        ({"engine": "bsp", "rebalance": True}, {"engine": Bsp(rebalance=True)}),
        ({"engine": "bulk_async", "local_rounds": 3}, {"engine": BulkAsync(local_rounds=3)}),
        (
            {"engine": "block_descent", "block_size": 64, "mode": "bsp"},
            {"engine": BlockDescent(block_size=64, mode="bsp")},
        ),
        ({"engine": "block_descent"}, {"engine": "block_descent"}),
        ({"device": "cuda", "memory": 1 << 30}, {"device": Cuda(memory=1 << 30)}),
        (
            {"daemons": "own process", "cache": 0, "block": 512},
            {"daemons": Daemons("own process", block=512, cache=0)},
        ),
        ({"daemons": "own process", "block": 512}, {"daemons": Daemons("own process", block=512)}),
        ({"device": "cuda", "memory": 8, "block": 512}, {"device": Cuda(memory=8, block=512)}),
        ({"device": "cuda", "block": 512}, {"device": Cuda(block=512)}),
    ],
)
def test_flat_keys_become_the_values_that_a_run_takes(keys, options):
    assert group_options("pagerank", keys, pytest.fail) == options


def test_an_operation_keeps_an_option_of_its_own_that_an_engine_has_too():
    assert group_options("closeness", {"direction": "in"}, pytest.fail) == {"direction": "in"}


def test_the_suite_in_the_documentation_runs(tmp_path, run):
    page = (Path(__file__).parents[2] / "docs/benchmarks.md").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(re.search(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1])
    done = run(f"bench {path} --trials 1")
    assert done.exit_code == 0
    assert "time, exact / plain" in done.output.splitlines()[-1]


def test_a_ratio_can_compare_with_the_best_of_the_other_settings(tiny):
    tiny.write_text(tiny.read_text().replace('ratio = "off / on"', 'ratio = "off / least"'))
    suite = open_suite(str(tiny))
    rows = [{**case.labels, "edges": 6 if case.setting.name == "off" else 4, "rounds": 1} for case in cases_of(suite)]
    assert evaluate_targets(suite, rows)[0]["ours"] == pytest.approx(1.5)


def test_an_unmeasured_figure_is_refused(run, tiny):
    tiny.write_text(tiny.read_text().replace('figure = "rounds"', 'figure = "hours"'))
    done = run(f"bench {tiny} --operation wcc --trials 1")
    assert (done.exit_code, "figure 'hours' was not measured" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("quik", "there is no 'quik'; did you mean `dgraph bench quick`? choose one of compare, "),
        ("comprae before after", "there is no 'comprae'; did you mean `dgraph bench compare`? choose one of compare, "),
        ("quik.toml", "quik.toml: is neither the name of a suite nor a TOML file (the suites are"),
    ],
)
def test_a_file_that_is_not_a_suite_is_refused(run, asked, told):
    done = run(f"bench {asked}")
    assert (done.exit_code, told in done.output) == (2, True)


def test_a_graph_file_is_found_relative_to_the_suite(tmp_path, run):
    """Beside the suite, wherever that is called from; with options that reading takes."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "edges.csv").write_text("a|b|w\n1|2|3\n2|3|4\n")
    suite = tmp_path / "mine" / "own.toml"
    suite.write_text(
        'title = "Mine"\n[graphs.g]\nfile = "edges.csv"\ndirected = false\ndelimiter = "|"\n[operations.wcc]\n'
    )
    done = run(f"bench {suite} --trials 1")
    assert done.exit_code == 0, done.output
    suite.write_text(suite.read_text().replace('file = "edges.csv"', 'file = "edges.csv"\ngenerate = "grid"'))
    assert "[graphs.g] generate: needs exactly one of `generate` and `file`" in run(f"bench {suite}").output
