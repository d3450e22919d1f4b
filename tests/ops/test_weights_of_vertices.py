"""Weights of vertices are taken from whatever a session has them in."""

from functools import partial

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pytest

import dgraph as dg
from dgraph.errors import OptionError
from dgraph.testing.verify import verify

EDGES = pd.DataFrame({"src": [1, 2, 3, 3, 5], "dst": [2, 3, 1, 4, 4]})
JUMPS = pd.DataFrame({"vertex": [3, 4], "weight": [1.0, 3.0]})
DANGLING = pd.DataFrame({"vertex": [5, 1], "weight": [1, 2]})


@pytest.mark.parametrize(
    "kind",
    [
        lambda frame: frame,
        lambda frame: frame.set_index("vertex")["weight"],
        pa.Table.from_pandas,
        partial(dd.from_pandas, npartitions=2),
    ],
    ids=["frame", "Series", "Arrow", "Dask"],
)
def test_personalization_as_a_frame_equals_that_as_a_dict(kind):
    G = dg.Graph.from_edges(EDGES)
    meant = {"personalization": {3: 1.0, 4: 3.0}, "dangling": {5: 1, 1: 2}}
    expected = dg.pagerank(G, **meant).compute()
    given = {"personalization": kind(JUMPS), "dangling": kind(DANGLING)}
    pd.testing.assert_frame_equal(dg.pagerank(G, **given).compute(), expected)
    verify("pagerank", G, expected, **given)


def test_the_frame_of_a_result_is_a_personalization():
    G = dg.Graph.from_edges(EDGES)
    first = dg.pagerank(G)
    ranks = dg.pagerank(G, personalization=first.frame).compute()
    assert ranks.equals(dg.pagerank(G, personalization=dict(first.compute().itertuples(index=False))).compute())


def test_ambiguous_personalizations_are_refused():
    G = dg.Graph.from_edges(EDGES)
    with pytest.raises(OptionError, match="personalization= lists vertex 3 more than once"):
        dg.pagerank(G, personalization=pd.concat([JUMPS, JUMPS]))
    with pytest.raises(OptionError, match=r"dangling= is a table with the columns \['src', 'dst', 'n'\]: give two"):
        dg.pagerank(G, dangling=EDGES.assign(n=1))
    with pytest.raises(OptionError, match="a Series or a frame"):
        dg.pagerank(G, personalization=3)
