"""Answers do not depend on who computes them: all programs on blocks, with every switch, on several daemons at once."""

import os
from itertools import product

import cases
import numpy as np
import pytest

import dgraph as dg
from dgraph.errors import OptionError

HARD = {
    "blocks": {"daemons": dg.Daemons(["in process"], block=7)},
    "no pipeline": {"daemons": dg.Daemons(["in process"], block=None)},
    "no cache": {"daemons": dg.Daemons(["in process"], block=7, cache=0)},
    "small cache": {"daemons": dg.Daemons(["in process"], block=3, cache=400)},
    "eager": {
        "daemons": dg.Daemons(["in process"], block=7),
        "engine": dg.Gas(optimizations=dg.Optimizations(lazy_upload=False)),
    },
    "two daemons": {"daemons": dg.Daemons(["in process", "in process"], block=7)},
    "own process": {"daemons": dg.Daemons("own process", block=16)},
}


SAMPLED = [(name, list(HARD)[(i + 3 * j) % len(HARD)]) for j in range(2) for i, name in enumerate(cases.PROGRAMS)]


@pytest.mark.parametrize(
    ("name", "how"), list(product(cases.PROGRAMS, HARD)) if os.environ.get("DGRAPH_ALL") else SAMPLED
)
def test_every_program_gives_the_same_answer_in_blocks(name, how):
    directed = how != "eager" or name in ("Matching", "Factorize")
    graph = cases.graph_for(name, directed, parts=2)
    options = {"engine": "gas", "random_seed": cases.SEED, **HARD[how]}
    cases.check(name, directed, dg.run(graph, cases.PROGRAMS[name], **options))


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("engine", [dg.Bsp, dg.BulkAsync])
def test_every_engine_and_direction_gives_the_same_answer_in_blocks(engine, direction):
    for name in ("ShortestPaths", "ManySources", "Residuals", "KCore"):
        graph, program = cases.graph_for(name, parts=3), cases.PROGRAMS[name]
        found = dg.run(graph, program, engine=engine(direction=direction), **HARD["small cache"]).compute()
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
        daemons = dg.Daemons(["in process"], block=300, cache=cache)
        engine = dg.Gas(optimizations=dg.Optimizations(lazy_upload=lazy, changed_only=changed))
        result = dg.sssp(graph, source, predecessors=False, daemons=daemons, engine=engine)
        assert np.array_equal(result.compute()["distance"], expected)
        moved[cache > 0, lazy] = int(result.report["moved"].sum())
    assert moved[False, False] > moved[False, True]  # messages can only stay in a cache, but rows without any anywhere
    assert max(moved[True, True], moved[True, False]) < moved[False, False] / 2


def test_empty_inboxes_are_not_downloaded(graph, source):
    """Nobody has a message yet: eight bytes of each row stay here, and of most rows nine more that would come back."""
    daemons = dg.Daemons(["in process"], block=300, cache=0)
    ways = [dg.Gas(direction="pull", optimizations=dg.Optimizations(lazy_upload=lazy)) for lazy in (False, True)]
    reports = [dg.sssp(graph, source, predecessors=False, daemons=daemons, engine=way).report for way in ways]
    plain, lazy = (int(report["moved"][report["blocks"] > 0].iloc[0]) for report in reports)
    assert plain - lazy > 10 * graph.num_vertices
    assert list(reports[0]["fired"]) == list(reports[1]["fired"])


def test_blocks_without_active_sources_are_skipped(graph, source):
    found = dg.sssp(graph, source, predecessors=False, daemons=dg.Daemons(["in process"], block=100)).report
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


def test_without_daemons_there_are_no_blocks(graph):
    found = dg.pagerank(graph, engine="gas").report
    assert "blocks" not in found and found.options["daemons"] == "in process"


@pytest.mark.parametrize(
    "options",
    [
        {"daemons": "elsewhere"},
        {"daemons": []},
        {"daemons": [3]},
        {"daemons": {"first": "own process"}},
        {"daemons": {1: ["in process"]}},
        {"engine": "local", "daemons": "own process"},
    ],
)
def test_unsupported_daemons_are_refused(graph, options):
    with pytest.raises(OptionError, match="daemons"):
        dg.pagerank(graph, **options)


@pytest.mark.parametrize("options", [{"block": 0}, {"block": "large"}, {"cache": -1}, {"cache": None}])
def test_unsupported_blocks_and_caches_are_refused(options):
    (name,) = options
    with pytest.raises(OptionError, match=name):
        dg.Daemons("own process", **options)


@pytest.mark.parametrize("daemons", ["in process", "auto"])
def test_a_word_for_no_daemons_is_refused(graph, daemons):
    with pytest.raises(
        OptionError, match=rf"daemons='{daemons}' .*: leave it out for none, .*dg.Daemons\(\"in process\"\)"
    ):
        dg.pagerank(graph, daemons=daemons)


def test_daemons_exclude_a_device_and_checkpoints(graph):
    for device in ("cuda", dg.Cuda(memory="1 GiB")):
        with pytest.raises(OptionError, match=r"daemons=.* and device=dg.Cuda.* are mutually exclusive"):
            dg.pagerank(graph, daemons="own process", device=device)
    for checkpoint in ("kept", dg.Checkpoint()):
        with pytest.raises(OptionError, match=r"daemons=.* and checkpoint=dg.Checkpoint.* are mutually exclusive"):
            dg.pagerank(graph, daemons="own process", checkpoint=checkpoint)


def test_an_unknown_kind_of_daemon_is_refused_with_the_known_kinds(graph):
    with pytest.raises(OptionError, match="choose one of 'in process', 'own process'"):
        dg.pagerank(graph, daemons=["cpu"])
