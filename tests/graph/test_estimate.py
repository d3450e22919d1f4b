"""Estimates come before the work and agree with what is built; what validation counts is what is there."""

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.errors import OptionError
from dgraph.estimate import FOOTPRINTS, POLICIES, Footprint
from dgraph.validation import LINES, says

GRAPHS = {
    "rmat": lambda **o: dg.rmat(scale=14, **o),
    "uniform": lambda **o: dg.uniform(vertices=20_000, edges=160_000, **o),
    "grid": lambda **o: dg.grid(rows=120, cols=120, **o),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", GRAPHS)
def test_memory_and_traffic_within_a_quarter(name, policy):
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
    told = graph.estimate(workers=4)
    assert 0 < len(read) <= 5
    assert not told.exact
    assert told.edges == pytest.approx(40_000, rel=0.01)
    assert told.vertices == pytest.approx(2000, rel=0.05)
    exact = dg.Graph.from_edges(frame).estimate(workers=4).frame
    assert told.frame["run"].to_numpy() == pytest.approx(exact["run"].to_numpy(), rel=0.25)


def test_what_fits():
    graph = GRAPHS["grid"]()
    roomy, tight = (graph.estimate(workers=4, memory=m) for m in ("1 GiB", "1 KiB"))
    assert roomy.policy in POLICIES
    assert roomy.frame["fits"].all()
    assert tight.policy is None
    assert "nothing fits: give at least" in repr(tight)


def test_operations_bring_their_footprint(monkeypatch):
    monkeypatch.setitem(FOOTPRINTS, "ranking", Footprint(("incoming",), vertex_bytes=24, message_bytes=4))
    graph = GRAPHS["rmat"]()
    plain, ranking = graph.estimate(workers=2).frame, graph.estimate("ranking", workers=2).frame
    assert (ranking["run"] > plain["run"]).all()
    assert (2 * ranking["exchange"] - plain["exchange"]).abs().max() <= 1
    with pytest.raises(OptionError, match="'walk' is not known; choose one of build, ranking"):
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
def test_counts(options, expected):
    graph = dg.Graph.from_edges(EDGES, weight="w", vertices=pd.DataFrame({"id": [8, 9]}), **options)
    counts = graph.validate().counts
    assert {name: getattr(counts, name) for name in expected} == expected
    assert counts.missing_weights == 0
    assert counts.components == "unknown"


def test_operations_say_what_they_will_do(monkeypatch):
    monkeypatch.setattr("dgraph.validation.LINES", dict(LINES))
    says("walks")(lambda counts: f"{counts.negative_weights} negative weights are refused" if counts.loops else None)
    shown = repr(dg.Graph.from_edges(EDGES, weight="w").validate())
    assert "walks: 1 negative weights are refused" in shown
    assert '1 self loops are kept (loops="drop" leaves them out)' in shown
