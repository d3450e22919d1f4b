"""Estimates come before the work and agree with what is built; what validation counts is what is there."""

import gc
import tracemalloc
from contextlib import nullcontext

import dask
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.cli.signatures import needed
from dgraph.cluster.scheduler import worker_infos
from dgraph.errors import OptionError, RoomError
from dgraph.estimates import sketch
from dgraph.estimates.estimate import POLICIES
from dgraph.estimates.footprints import FOOTPRINTS, TRUSSES
from dgraph.estimates.memory_check import PROCESS_BYTES, check_gathering_memory
from dgraph.factors import spread_fit
from dgraph.factors.fit_options import LeastSquares
from dgraph.factors.rating_fit import FitPlan
from dgraph.factors.rating_test import RatingTest
from dgraph.native import free_memory
from dgraph.partition.ids.chunk import Chunk
from dgraph.partition.ids.id_types import IdType
from dgraph.partition.policies import choose_policy
from dgraph.runs.progress import Progress

GRAPHS = {
    "rmat": lambda **o: dg.rmat(scale=14, **o),
    "uniform": lambda **o: dg.uniform(vertices=20_000, edges=160_000, **o),
    "grid": lambda **o: dg.grid(rows=120, cols=120, **o),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", GRAPHS)
def test_build_estimates_are_within_a_quarter_of_the_measurements(name, policy):
    graph = GRAPHS[name](policy=policy, parts=6)
    told = graph.estimate(workers=6).frame.loc[policy]
    report = graph.partitions.report
    assert told["run"] == pytest.approx(report.frame["bytes"].max(), rel=0.25)
    assert told["replication"] == pytest.approx(report.replication, rel=0.1)
    exchanged = report.frame[["reduced", "broadcast"]].to_numpy().sum()
    assert told["exchange"] == pytest.approx(8 * exchanged, rel=0.25)


def test_a_lazy_graph_is_estimated_without_being_read():
    import dask.dataframe as dd

    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 2000, (40_000, 2)), columns=["src", "dst"])
    read = []

    def watched(piece):
        read.append(len(piece))
        return piece

    lazy = dd.from_pandas(frame, npartitions=20).map_partitions(watched, meta=frame.iloc[:0])
    graph = dg.Graph.from_edges(lazy)
    for quick, most, within in ((True, 5, 0.05), (False, 26, 0.03)):
        read.clear()
        told = graph.estimate(workers=4, quick=quick)
        assert 0 < len(read) <= most
        assert not told.exact
        assert told.edges == pytest.approx(40_000, rel=0.01 if quick else 0)
        assert told.vertices == pytest.approx(2000, rel=within)
        assert ("from 4 of 20 pieces" in repr(told)) == quick
        exact = dg.Graph.from_edges(frame).estimate(workers=4).frame
        assert told.frame["run"].to_numpy() == pytest.approx(exact["run"].to_numpy(), rel=0.25)


@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("place", ["here", "workers"])
def test_vertices_of_a_sorted_lazy_graph_are_told_within_a_few_percent(client, kind, place):
    """A few pieces see few of them, each of them often."""
    import dask.dataframe as dd

    source = np.sort(np.random.default_rng(0).integers(0, 10**12, 15_000))
    frame = pd.DataFrame({"src": np.repeat(source, 4), "dst": np.repeat(source, 4) + np.tile([0, 1, 2, 3], 15_000)})
    lazy = dd.from_pandas(frame.astype(kind), npartitions=30, sort=False)
    graph = dg.Graph.from_edges(lazy, client=client if place == "workers" else None)
    told, vertices = graph.estimate(workers=4), len(pd.unique(frame.to_numpy().ravel()))
    assert told.vertices == pytest.approx(vertices, rel=0.03) and told.edges == len(frame)
    assert graph.estimate(workers=4, quick=True).vertices != pytest.approx(vertices, rel=0.4)


@pytest.mark.parametrize("count", [1, 100, 20_000, 300_000])
def test_a_sketch_counts_distinct_ids_within_a_few_percent(count):
    ids = np.random.default_rng(count).integers(-(2**62), 2**62, count)
    halves = [Chunk(IdType("integer"), some, some[:0]) for some in (ids[: count // 3], ids[count // 4 :])]
    halves = [sketch.sketch(one) for one in halves]
    assert sketch.distinct(sketch.join(halves)[1]) == pytest.approx(count, rel=0.03)


def test_what_the_workers_cannot_hold_is_refused(client, monkeypatch):
    """With numbers and the remedy, before anything is built or run; and one may go on anyway."""
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 2000, (40_000, 2)), columns=["src", "dst"])
    graph = dg.Graph.from_edges(frame, client=client, parts=2)
    kept, workers = dask.config.get("dgraph", {}), worker_infos(client)

    def leave(room: int) -> None:
        """Let each worker have so many bytes beside what its process takes."""
        memory = {"memory_limit": (room + PROCESS_BYTES) / 0.8, "metrics": {"memory": PROCESS_BYTES}}
        known = {address: {**info, **memory} for address, info in workers.items()}
        small.setattr("dgraph.estimates.memory_check.worker_infos", lambda client, **_: known)

    with monkeypatch.context() as small:
        leave(490_000)
        dg.Graph.from_edges(frame, client=client)
        leave(460_000)
        with pytest.raises(RoomError, match=r"sending the edges to the workers needs about 46\d\.\d+ kiB .*piece by"):
            dg.Graph.from_edges(frame, client=client)
        with pytest.raises(RoomError, match="sending the vertices"):
            dg.Graph.from_edges(frame[:10], vertices=pd.DataFrame({"id": np.arange(1 << 17)}), client=client)
        leave(160_000)
        with pytest.raises(RoomError, match=r"building the graph needs about .* kiB on each of 2 workers.*156\.25 kiB"):
            graph.partitioned()
        assert graph.built is None
        leave(0)
        with pytest.raises(RoomError, match=r"has only 0 B:.*Start larger ones"):
            graph.partitioned()
        leave(160_000)
        with dask.config.set({"dgraph.memory-check": False}):
            assert len(graph.partitioned()) == 2
        with pytest.raises(RoomError, match=r"Start about [3-9] of them"):
            dg.triangles(graph)
        leave(240_000)
        with pytest.raises(RoomError, match="a run of "):
            dg.pagerank(graph, engine="gas")
        leave(450_000)
        dg.pagerank(graph, engine="gas", tol=0.1)
        with pytest.raises(RoomError, match="a run of "):  # which keeps a layout of the edges
            dg.pagerank(graph, engine="bulk_async", tol=0.1)
    assert dg.triangles(graph).compute()["triangles"].sum() > 0
    assert dask.config.get("dgraph", {}) == kept


@pytest.mark.parametrize("workers", [2, 16])
def test_what_one_worker_gathers_is_not_divided_by_their_number(client, monkeypatch, workers):
    graph = dg.uniform(vertices=2000, edges=40_000, seed=1, client=client, parts=2)
    info = {**next(iter(worker_infos(client).values())), "metrics": {"memory": PROCESS_BYTES}}
    info["memory_limit"] = (1_500_000 + PROCESS_BYTES) / 0.8
    known = {f"tcp://10.0.0.{one}:1": info for one in range(workers)}
    monkeypatch.setattr("dgraph.estimates.memory_check.worker_infos", lambda client, **_: known)
    with pytest.raises(RoomError, match=rf"trusses needs about .* on each of {workers} workers.*Start larger ones"):
        dg.truss_number(graph)


def test_partitions_in_memory_need_no_more_room(monkeypatch):
    """Only what is gathered from them does; nothing is from a single one."""
    for parts in (1, 2):
        new, built = (dg.rmat(scale=8, seed=1, parts=parts) for _ in range(2))
        need = int(TRUSSES.gathered.vertex_bytes * new.num_vertices + TRUSSES.gathered.edge_bytes * new.num_edges)
        built.partitioned(("out",))
        for graph, room, refused in ((new, need, True), (built, need, False), (built, need - 1, True)):
            with monkeypatch.context() as small:
                small.setattr(free_memory, "free_memory", lambda room=room: room)
                with pytest.raises(RoomError) if refused and parts > 1 else nullcontext():
                    check_gathering_memory(graph, "this", TRUSSES)


def test_estimates_recommend_a_policy_only_if_it_fits_in_memory():
    graph = GRAPHS["grid"]()
    roomy, tight = (graph.estimate(workers=4, memory=m) for m in ("1 GiB", "1 KiB"))
    assert roomy.policy in POLICIES
    assert roomy.frame["fits"].all()
    assert tight.policy is None
    assert "no policy fits: use at least" in repr(tight)


@pytest.mark.parametrize(
    "asked",
    [
        {"workers": 0},
        {"workers": 1.5},
        *({"memory": size} for size in (0, -1, "-1 GiB", "much", float("inf"), ["4 GiB"])),
    ],
)
def test_estimates_with_invalid_arguments_are_refused(asked):
    with pytest.raises(OptionError, match=next(iter(asked))):
        dg.uniform(vertices=4, edges=4).estimate(**asked)


ALL_CHANGE = (  # in some round
    "pagerank", "hits", "katz", "degrees", "wcc", "scc", "cdlp", "core_number", "label_propagation",
)  # fmt: skip


def _toward_larger(size):
    """Random edges without a cycle."""
    frame = dg.uniform(vertices=size, edges=12 * size, weights=(1, 9)).edges.compute()
    frame[["source", "destination"]] = np.sort(frame[["source", "destination"]], axis=1)
    return frame[frame["source"] < frame["destination"]].rename(columns={"source": "src", "destination": "dst"})


ALONE = (
    "pagerank",
    "wcc",
    "core_number",
    "lcc",
    "leiden",
    "louvain",
    "maximal_independent_set",
    "coloring",
    "topological_generations",
)


@pytest.mark.parametrize(
    ("name", "parts", "how"),
    [
        *((name, 3, {}) for name in dg.OPERATIONS),
        *((name, 1, {}) for name in ALONE),
        *(("triad_census", parts, {}) for parts in (1, 3)),
        *((name, parts, {"weighted": True}) for name in ("pagerank", "label_propagation") for parts in (1, 3)),
        *((name, parts, {"method": "sketch"}) for name in ("closeness", "harmonic") for parts in (1, 3)),
    ],
)
def test_operation_estimates_are_within_a_quarter_of_the_measurements(name, parts, how):
    """The peak of arrays that a second run finds or makes, partitions included, and the bytes of its largest round."""
    options = {"katz": {"alpha": 1e-4}}.get(name, how)
    if name in ("betweenness", "closeness", "harmonic"):
        options = {"sources": 16, **how}
    if name in ALL_CHANGE and parts > 1:
        options = {**options, "engine": "gas"}  # which never ends on one worker

    def drawn(size):
        where = {"parts": parts, "weights": (1, 9)}
        if name == "topological_generations":
            return dg.Graph.from_edges(_toward_larger(size), weight="weight", parts=parts)
        if name == "matching":
            return dg.bipartite(left=size // 2, right=size // 2, edges=6 * size, **where)
        return dg.uniform(vertices=size, edges=12 * size, **where)

    def run():
        operation = getattr(dg, name)
        return operation(graph, **dict.fromkeys(needed(operation), 0), **options)

    graph = drawn(1 << 8)
    run()  # what is compiled stays, and is no array
    graph = drawn(1 << 14)
    kind = "".join({"weighted": "weighted_", "method": "sketched_"}[option] for option in how)
    told = graph.estimate(kind + name, workers=parts).frame.loc["outgoing"]
    tracemalloc.start()
    try:
        run()  # the result goes, what the graph keeps remains
        peak = 0
        for _ in range(3):  # on a busy machine partitions may come one after the other, and need less at once
            gc.collect()
            tracemalloc.reset_peak()
            result = run()
            peak = max(peak, tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    if FOOTPRINTS[name].gathered is None or parts == 1:
        expected = peak / parts
    else:  # one worker does all the work beside its partition
        held = graph.partitions.report.frame["bytes"].sum()
        expected = peak - held + held / parts
    assert told["run"] == pytest.approx(expected, rel=0.25)
    if name in ALL_CHANGE and parts > 1:
        assert told["exchange"] == pytest.approx(result.report.groupby("superstep")["bytes"].sum().max(), rel=0.25)


def _ends(shape: str) -> np.ndarray:
    """Sources and destinations of a grid, which has many vertices and few proxies, of a graph with a hub, and of one
    whose edges are few beside its vertices. All lead from even vertices to odd ones."""
    if shape == "grid":
        at = np.arange(150 * 151).reshape(150, 151)
        left, right = np.concatenate(
            [[at[:, :-1].ravel(), at[:, 1:].ravel()], [at[:-1].ravel(), at[1:].ravel()]], axis=1
        )
        return np.where(left % 2 == 0, (left, right), (right, left))
    u, v = 2 * np.random.default_rng(3).integers(0, 10_000, (2, 40_000 if shape == "hub" else 20_000))
    if shape == "hub":
        u[::3], v[::3] = 0, 2 * np.arange(len(v[::3])) % 20_000
    return np.array([u, v + 1])


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("shape", ["grid", "hub", "sparse"])
@pytest.mark.parametrize("name", ["cdlp", "core_number", "label_propagation", "lcc", "matching", "triangles"])
def test_other_shapes_take_no_more_memory_than_estimated(name, shape, directed):
    """The peak of arrays of a first run on several partitions is at most half above what was told (threads may be at
    their own peaks at the same time, or not), and at least half of it."""

    def run(few: int) -> None:
        graph = dg.Graph.from_edges({"src": ends[0, ::few], "dst": ends[1, ::few]}, directed=directed, parts=4)
        graphs.append(graph)
        getattr(dg, name)(graph)

    ends, graphs = _ends(shape), []
    run(50)
    tracemalloc.start()
    try:
        run(1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    told = graphs[-1].estimate(name, workers=4).frame.loc["outgoing", ["build", "run"]].max() * 4
    assert peak / 1.5 < told < 2 * peak


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("name", ["build", "core_number"])
def test_estimates_include_the_memory_for_merging_repeats(name, parts):
    """The peak of arrays while a graph without repeats is made, the user's frame beside."""
    ends = np.random.default_rng(2).integers(0, 1 << 13, (2, 1 << 17))
    rules = {"directed": False, "loops": "drop", "repeats": "first"} if name == "build" else {}

    def graph(size):
        return dg.Graph.from_edges({"src": ends[0, :size], "dst": ends[1, :size]}, parts=parts, **rules)

    def run(one):
        return one.partitioned() if name == "build" else dg.core_number(one)

    run(graph(100))
    told = graph(1 << 17).estimate(name, workers=parts).frame.loc["outgoing", ["build", "run"]].max() * parts
    tracemalloc.start()
    try:
        run(graph(1 << 17))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.75 * peak < told < 2.5 * peak


@pytest.mark.parametrize(
    ("parts", "rank", "directed"), [(1, 8, True), (1, 50, False), (3, 8, True), (3, 8, False), (3, 50, True)]
)
@pytest.mark.parametrize(("edges", "vertices"), [(60_000, 2000), (20_000, 30_000)], ids=["dense", "sparse"])
def test_estimates_of_factorize_grow_with_the_rank(parts, rank, directed, edges, vertices, monkeypatch):
    """With several partitions, those of a cluster's workers are fitted by threads of this process."""
    monkeypatch.setattr(spread_fit, "threads_of_worker", lambda: 1)
    ends = np.random.default_rng(4).integers(0, vertices // 2, (2, edges))
    ends[1] += vertices // 2

    def run(few):
        frame = {"user": ends[0, ::few], "item": ends[1, ::few], "rating": np.ones(len(ends[0, ::few]))}
        how = {"source": "user", "destination": "item", "weight": "rating", "directed": directed, "parts": parts}
        graph = dg.Graph.from_edges(frame, **how)
        if parts == 1:
            return graph, dg.factorize(graph, rank=rank, epochs=2).report
        plan = FitPlan(rank, False, None, LeastSquares(), 2, None, RatingTest(0.1, 0))
        outcome, _ = spread_fit.spread_fit(graph, plan, ("rating",), None, None, Progress.of(False, "factorize"))
        return graph, pd.DataFrame(outcome.summaries[0].rows)

    run(50)
    tracemalloc.start()
    try:
        graph, report = run(1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    told = graph.estimate("factorize", workers=parts, rank=rank).frame.loc["outgoing"]
    assert 0.7 * peak < told["run"] * parts < 1.5 * peak
    if parts > 1:
        assert told["exchange"] == pytest.approx(report["bytes"].iloc[-1], rel=0.25)


def test_only_factorize_has_a_rank():
    graph = dg.rmat(scale=4, seed=1)
    with pytest.raises(OptionError, match="rank=64 is only for \"factorize\", and the operation is 'wcc'"):
        graph.estimate("wcc", rank=64)
    with pytest.raises(OptionError, match="rank=5000 must be an integer from 1 to 4096"):
        graph.estimate("factorize", rank=5000)


def test_estimates_depend_on_the_operation():
    graph = GRAPHS["rmat"](weights=(1, 9))
    assert (graph.estimate("sssp", workers=2).frame["run"] > graph.estimate("bfs", workers=2).frame["run"]).all()
    with pytest.raises(OptionError, match="'walk' is not known; choose one of betweenness, bfs, build"):
        graph.estimate("walk")


EDGES = pd.DataFrame({"src": [1, 1, 2, 3, 3, 5], "dst": [2, 2, 1, 3, 1, 1], "w": [1.0, -1, 0, 2, 2, 3]})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"loops": 1, "repeats": 1, "isolated": 2, "dangling": 2, "negative_weights": 1, "zero_weights": 1}),
        ({"directed": False}, {"loops": 1, "repeats": 2, "isolated": 2, "dangling": 2, "edges": 6}),
        ({"loops": "drop", "repeats": "first"}, {"edges": 4, "listed": 6, "loops": 1, "repeats": 1}),
        ({"symmetrize": True, "repeats": "sum"}, {"edges": 7, "dangling": 2}),
    ],
)
def test_validation_counts_loops_repeats_and_isolated_vertices(options, expected):
    graph = dg.Graph.from_edges(EDGES, weight="w", vertices=pd.DataFrame({"id": [8, 9]}), **options)
    counts = graph.validate().counts
    assert {name: getattr(counts, name) for name in expected} == expected
    assert counts.missing_weights == 0
    assert counts.components == "unknown"


def test_validation_says_how_operations_treat_unusual_edges():
    found = dg.Graph.from_edges(EDGES, weight="w", vertices=[8, 9]).validate()
    assert found.operations["sssp"].startswith(
        "negative weights (1): the slower Bellman-Ford algorithm is used; edges of length 0 (1)"
    )
    assert found.operations["matching"] == "self loops (1) are refused: they connect a side with itself"
    assert found.operations["degrees"] == "repeated edges (1) all count; self loops (1) add 2 to a degree"
    assert "self loops (1) count, and pass rank back to their own vertex" in found.operations["pagerank"]
    for name in ("pagerank", "hits", "katz", "label_propagation"):  # those with weighted=
        assert found.operations[name].endswith("negative weights (1) are refused with weighted=True")
    assert "wcc: isolated vertices (2) are separate components" in repr(found)
    assert 'self loops (1) are kept (loops="drop" removes them)' in repr(found)


def test_validation_is_silent_about_ordinary_graphs():
    ring = dg.Graph.from_edges({"src": [1, 2, 3], "dst": [2, 3, 1]})
    assert ring.validate().operations == {"sssp": "no weights: every edge has length 1"}
    tidied = dg.Graph.from_edges(EDGES, weight="w", loops="drop", repeats="min").validate()
    assert "matching" not in tidied.operations
    assert "are ignored" not in repr(tidied)
    undirected = dg.Graph.from_edges(EDGES, weight="w", directed=False).validate()
    assert "a negative cycle in an undirected graph" in undirected.operations["sssp"]


def test_the_advice_says_what_auto_takes_in_its_place():
    graph = dg.rmat(scale=10, seed=1)
    for workers in (1, 4, 16):
        found = graph.estimate(workers=workers)
        auto = choose_policy("auto", workers).name
        last = repr(found).splitlines()[-1]
        assert last.startswith(f"least traffic: {found.policy}")
        assert last.endswith(found.policy) if auto == found.policy else f'(policy="auto" takes {auto} ' in last
