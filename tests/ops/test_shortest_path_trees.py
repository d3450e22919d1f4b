"""Predecessors where most edges add nothing to a distance: one tree, on any number of partitions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sssp import IDS, arcs, check_tree

import dgraph as dg
from dgraph.keywords import ENGINE_VALUES
from dgraph.testing.strategies import edge_frames

pytestmark = pytest.mark.usefixtures("several_threads")

NOTHING = st.sampled_from([0.0, 0.0, 1e-300, 1e300, 0.25, np.inf])  # or next to it, beside others
PLACES = [
    ("gas", 2, "outgoing"),
    ("bulk_async", 2, "cartesian"),
    ("bsp", 4, "incoming"),
    ("block_descent", 4, "hybrid"),
]


@given(
    edge_frames(ids=IDS[:7], min_edges=4, weights=st.one_of(st.just(0.0), NOTHING)),
    st.booleans(),
    st.sets(st.sampled_from(IDS), min_size=1, max_size=3),
    st.sampled_from(PLACES),
    st.sampled_from(["auto", "pull", "push"]),
)
@settings(max_examples=20)
def test_trees_with_edges_of_length_zero_are_the_same_everywhere(frame, directed, sources, place, direction):
    """The same tree everywhere, whose paths end at a source and are as long as their distances say."""
    engine, parts, policy = place
    graphs = [
        dg.Graph.from_edges(
            frame, weight="weight", directed=directed, vertices=pd.DataFrame({"id": IDS}), parts=parts, policy=policy
        )
        for parts, policy in ((1, "outgoing"), (parts, policy))
    ]
    how = ENGINE_VALUES[engine](**({} if engine == "block_descent" else {"direction": direction}))
    found = dg.sssp(graphs[0], sorted(sources)).compute()
    pd.testing.assert_frame_equal(dg.sssp(graphs[1], sorted(sources), engine=how).compute(), found)
    rows = arcs(frame, directed)
    check_tree(found, rows, sources)
    lightest = {(u, v): w for u, v, w in sorted(rows, key=lambda row: -row[2])}
    parent = found["predecessor"].dropna().astype(int).to_dict()
    for end, distance in enumerate(found["distance"]):
        path = [end]
        while path[-1] in parent:
            path.append(parent[path[-1]])
            assert len(path) <= len(IDS)
        assert (path[-1] in sources) == (distance < np.inf)
        total = 0.0
        for v, u in zip(path[-2::-1], path[:0:-1], strict=True):
            total += lightest[u, v]
        assert distance in (total, np.inf)


@pytest.mark.parametrize("parts", [1, 2])
def test_vertices_may_have_columns_of_any_name(parts):
    own = pd.DataFrame({"id": [0, 1, 2], **{name: ["a", "b", "c"] for name in ("known", "before", "source", "parent")}})
    for weight in (-1.0, 0.0, 1.0):
        frame = pd.DataFrame({"src": [0, 1], "dst": [1, 2], "w": [2.0, weight]})
        found = dg.sssp(dg.Graph.from_edges(frame, weight="w", vertices=own, parts=parts), 0).compute()
        assert found["distance"].tolist() == [0, 2, 2 + weight] and found["predecessor"].tolist()[1:] == [0, 1]
