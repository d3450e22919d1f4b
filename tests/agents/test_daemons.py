"""Answers do not depend on who computes them: all programs on blocks, with every switch, on several daemons at once."""

import os
from itertools import product

import cases
import numpy as np
import pytest

import dgraph as dg
from dgraph.errors import OptionError

HARD = {
    "blocks": {"daemons": ["in process"], "pipeline_block": 7},
    "no pipeline": {"daemons": ["in process"], "pipeline_block": None},
    "no cache": {"daemons": dg.Daemons(["in process"], block=7, cache=0)},
    "small cache": {"daemons": dg.Daemons(["in process"], block=3, cache=400)},
    "eager": {
        "daemons": dg.Daemons(["in process"], block=7),
        "optimisations": dg.Optimisations(lazy_upload=False),
    },
    "two daemons": {"daemons": dg.Daemons(["in process", "in process"], block=7)},
    "own process": {"daemons": "own process", "pipeline_block": 16},
}


SAMPLED = [(name, list(HARD)[(i + 3 * j) % len(HARD)]) for j in range(2) for i, name in enumerate(cases.PROGRAMS)]


@pytest.mark.parametrize(
    ("name", "how"), list(product(cases.PROGRAMS, HARD)) if os.environ.get("DGRAPH_ALL") else SAMPLED
)
def test_every_program_gives_the_same_answer_in_blocks(name, how):
    directed = how != "eager" or name in ("Matching", "Factorize")
    graph = cases.graph_for(name, directed, parts=2)
    cases.check(name, directed, dg.run(graph, cases.PROGRAMS[name], engine="gas", random_seed=cases.SEED, **HARD[how]))


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("engine", ["bsp", "bulk_async"])
def test_every_engine_and_direction_gives_the_same_answer_in_blocks(engine, direction):
    for name in ("ShortestPaths", "ManySources", "Residuals", "KCore"):
        graph, program = cases.graph_for(name, parts=3), cases.PROGRAMS[name]
        how = {**HARD["small cache"], "optimisations": dg.Optimisations(direction=direction)}
        found = dg.run(graph, program, engine=engine, **how).compute()
        expected = dg.run(graph, program, engine="gas").compute()
        for column in expected.columns[1:]:
            mine, theirs = (np.array(frame[column].tolist(), float) for frame in (found, expected))
            np.testing.assert_allclose(mine, theirs, rtol=1e-6)


@pytest.fixture(scope="module")
def graph():
    return dg.rmat(scale=10, edge_factor=8, seed=2, weights=(1, 50))


@pytest.fixture(scope="module")
def source(graph):
    return int(graph.edges.compute()["source"].mode()[0])


def test_cached_vertices_are_not_downloaded_again(graph, source):
    """Eight settings, one answer; and with the cache less than half is moved."""
    expected = dg.sssp(graph, source, predecessors=False).compute()["distance"].to_numpy()
    moved = {}
    for cache, lazy, changed in product((0, 1 << 20), (False, True), (False, True)):
        result = dg.sssp(
            graph,
            source,
            predecessors=False,
            daemons=dg.Daemons(["in process"], block=300, cache=cache),
            optimisations=dg.Optimisations(lazy_upload=lazy, changed_only=changed),
        )
        assert np.array_equal(result.compute()["distance"], expected)
        moved[cache > 0, lazy] = int(result.report["moved"].sum())
    assert moved[False, False] > moved[False, True]  # messages can only stay in a cache, but rows without any anywhere
    assert max(moved[True, True], moved[True, False]) < moved[False, False] / 2


def test_empty_inboxes_are_not_downloaded(graph, source):
    """Nobody has a message yet: eight bytes of each row stay here, and of most rows nine more that would come back."""
    daemons = dg.Daemons(["in process"], block=300, cache=0)
    ways = [dg.Optimisations(direction="pull", lazy_upload=lazy) for lazy in (False, True)]
    reports = [dg.sssp(graph, source, predecessors=False, daemons=daemons, optimisations=way).report for way in ways]
    plain, lazy = (int(report["moved"][report["blocks"] > 0].iloc[0]) for report in reports)
    assert plain - lazy > 10 * graph.num_vertices
    assert list(reports[0]["fired"]) == list(reports[1]["fired"])


def test_blocks_without_active_sources_are_skipped(graph, source):
    found = dg.sssp(graph, source, predecessors=False, daemons=["in process"], pipeline_block=100).report
    every = -(-graph.num_edges // 100)
    last = found[found["fired"] > 0].iloc[-1]
    assert last["skipped_blocks"] > every / 2
    assert (found["blocks"].max() > every / 2) and (found["block_size"].max() == 100)


def test_the_report_tells_the_measured_costs(graph):
    found = dg.pagerank(graph, tol=0, max_iter=20, engine="gas", daemons=["in process"]).report
    last = found.iloc[-1]
    assert last[["k1", "k2", "k3"]].min() > 0 and last[["a", "a1", "a3"]].min() >= 0
    assert last["predicted"] > 0 and last["pipeline"] > 0 and last["blocks"] >= 1 and last["moved"] > 0
    assert last["block_size"] >= 1024
    assert found.options["daemons"] == "in process" and found.options["pipeline block"] == "auto"


def test_the_daemon_in_process_needs_no_blocks(graph):
    found = dg.pagerank(graph, engine="gas", daemons="in process").report
    assert "blocks" not in found and found.options["daemons"] == "in process"


@pytest.mark.parametrize(
    "options",
    [
        {"daemons": "elsewhere"},
        {"daemons": []},
        {"daemons": [3]},
        {"daemons": {"first": "own process"}},
        {"daemons": {1: ["in process"]}},
        {"pipeline_block": 0},
        {"pipeline_block": "large"},
        {"pipeline_block": 64},
        {"pipeline_block": None},
        {"engine": "local", "daemons": "own process"},
        {"engine": "block_descent", "optimisations": dg.Optimisations(lazy_upload=False)},
    ],
)
def test_unsupported_daemons_are_refused(graph, options):
    name = "lazy_upload" if "optimisations" in options else list(options)[-1]
    with pytest.raises(OptionError, match=name):
        dg.pagerank(graph, **options)


def test_the_kinds_are_named(graph):
    with pytest.raises(OptionError, match="choose one of 'in process', 'own process'"):
        dg.pagerank(graph, daemons=["cpu"])
