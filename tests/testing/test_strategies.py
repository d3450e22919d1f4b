"""The strategies that ship: what they promise, that they reach every awkward case, and that failures shrink well."""

import subprocess
import sys

import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from dgraph.testing.strategies import EXACT_WEIGHTS, KINDS, edge_frames, small_graphs, vertex_ids

quick = settings(max_examples=50, deadline=None)
search = settings(
    max_examples=2000, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def pairs(frame):
    return set(zip(frame["src"], frame["dst"], strict=True))


def is_loop(frame):
    return frame["src"] == frame["dst"]


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(data=st.data())
def test_ids_are_distinct_and_one_type(kind, data):
    n = data.draw(st.integers(0, 8))
    ids = data.draw(vertex_ids(kind, n))
    assert len(set(ids)) == len(ids) == n
    assert all(isinstance(v, str) if kind in ("string", "uuid") else -(1 << 63) <= v < 1 << 63 for v in ids)


@quick
@given(frame=edge_frames(weights=EXACT_WEIGHTS, max_vertices=5, max_edges=7))
def test_frames_keep_their_limits(frame):
    assert list(frame) == ["src", "dst", "weight"]
    assert frame["src"].dtype == frame["dst"].dtype
    assert frame["weight"].dtype == "float64"
    assert len(frame) <= 7
    assert len(set(frame["src"]) | set(frame["dst"])) <= 5
    assert frame.notna().all(axis=None)


@quick
@given(frame=edge_frames(loops=False, repeats=False, min_edges=1))
def test_frames_can_exclude_loops_and_repeats(frame):
    assert len(frame) >= 1
    assert not is_loop(frame).any()
    assert not frame.duplicated(["src", "dst"]).any()


@quick
@given(drawn=small_graphs())
def test_small_graphs_are_arguments_for_a_graph(drawn):
    frame, kwargs = drawn
    assert list(kwargs) == ["source", "destination", "weight", "directed", "vertices"]
    assert {kwargs["source"], kwargs["destination"]} <= set(frame)
    assert (kwargs["weight"] is None) == ("weight" not in frame)
    if kwargs["vertices"] is not None:
        ids = kwargs["vertices"]["id"]
        assert ids.is_unique
        assert ids.dtype == frame["src"].dtype
        assert set(frame["src"]) | set(frame["dst"]) <= set(ids)


@quick
@given(drawn=small_graphs(kinds=["uuid"], directed=False, weights=None, loops=False))
def test_small_graphs_respect_the_requested_options(drawn):
    frame, kwargs = drawn
    assert not kwargs["directed"]
    assert kwargs["weight"] is None
    assert not is_loop(frame).any()
    assert all(len(v) == 36 for v in frame["src"])


AWKWARD = {
    "no edges": lambda frame, _: frame.empty,
    "a loop": lambda frame, _: is_loop(frame).any(),
    "a repeated edge": lambda frame, _: frame.duplicated(["src", "dst"]).any(),
    "both directions": lambda frame, _: any(u != v and (v, u) in pairs(frame) for u, v in pairs(frame)),
    "an isolated vertex": lambda frame, kwargs: (
        kwargs["vertices"] is not None and not set(kwargs["vertices"]["id"]) <= {*frame["src"], *frame["dst"]}
    ),
    "no vertex": lambda _, kwargs: kwargs["vertices"] is not None and kwargs["vertices"].empty,
    "text": lambda frame, _: frame["src"].dtype != "int64",
    "a negative id": lambda frame, _: frame["src"].dtype == "int64" and (frame["src"] < 0).any(),
    "an id beyond float64": lambda frame, _: frame["src"].dtype == "int64" and (frame["src"].abs() > 1 << 53).any(),
    "a weight of 0": lambda frame, kwargs: kwargs["weight"] is not None and (frame["weight"] == 0).any(),
    "whole weights": lambda frame, kwargs: kwargs["weight"] is not None and frame["weight"].dtype == "int64",
    "an index backwards": lambda frame, _: len(frame) > 1 and frame.index[0] > 0,
    "directed": lambda _, kwargs: kwargs["directed"],
    "undirected": lambda _, kwargs: not kwargs["directed"],
}


@pytest.mark.parametrize("case", AWKWARD)
def test_every_awkward_case_is_reached(case):
    find(small_graphs(), lambda drawn: bool(AWKWARD[case](*drawn)), settings=settings(search, phases=[Phase.generate]))


def test_a_failure_shrinks_to_a_small_graph():
    """A path of two edges is found among dense ids, with no weights, no vertex frame and no direction."""

    def has_path(drawn):
        edges = pairs(drawn[0])
        return any(len({u, v, w}) == 3 and v == x for u, v in edges for x, w in edges)

    frame, kwargs = find(small_graphs(), has_path, settings=settings(search, report_multiple_bugs=False))
    assert len(frame) == 2
    assert set(frame["src"]) | set(frame["dst"]) == {0, 1, 2}
    assert list(frame) == ["src", "dst"]
    assert kwargs == {"source": "src", "destination": "dst", "weight": None, "directed": False, "vertices": None}
    assert isinstance(frame.index, pd.RangeIndex)


def test_only_the_strategies_import_hypothesis():
    code = "import sys, dgraph.testing, dgraph.io.generate; sys.exit('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
