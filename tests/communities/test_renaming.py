"""Communities that go on from an earlier division: what they are called, and that little changes with the graph."""

from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.communities.labels import kept_names
from dgraph.errors import ColumnError, IdError
from dgraph.testing.verify import verify

SEARCHES = {"leiden": dg.leiden, "louvain": dg.louvain}


def by_the_rule(communities, earlier):
    """The names, one community at a time; `earlier` names each vertex's earlier community, below 0 for none."""
    best = {}
    for one in sorted(set(communities)):
        shared = Counter(label for mine, label in zip(communities, earlier, strict=True) if mine == one and label >= 0)
        if shared:
            label = min(shared, key=lambda label: (-shared[label], label))
            best.setdefault(label, []).append((-shared[label], one))
    names = {min(claims)[1]: label for label, claims in best.items()}
    for one in sorted(set(communities) - names.keys()):
        own = [v for v, mine in enumerate(communities) if mine == one]
        names[one] = next(v for v in [*own, *range(len(communities))] if v not in names.values())
    return [names[one] for one in sorted(names)]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 9)), max_size=10))
def test_kept_names_match_a_plain_python_implementation(drawn):
    communities = np.unique([one for one, _ in drawn], return_inverse=True)[1]
    earlier = np.array([min(label, len(drawn) - 1) for _, label in drawn], np.int64)
    labels = np.arange(len(drawn))
    found = kept_names(communities, earlier, labels)
    assert found.tolist() == by_the_rule(communities.tolist(), earlier.tolist())
    assert len(set(found.tolist())) == len(found)


def planted(seed=3, groups=8, size=40):
    peer = nx.planted_partition_graph(groups, size, 0.4, 0.01, seed=seed)
    return pd.DataFrame(peer.edges(), columns=["src", "dst"])


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("parts", [1, 3])
def test_communities_keep_their_names_when_the_graph_changes(name, parts):
    edges, search = planted(), SEARCHES[name]
    before = search(dg.Graph.from_edges(edges, directed=False, vertices=320))
    fewer = edges[~edges.isin([0, 40, 41]).any(axis=1)]  # vertex 0 named its community, and 40 another
    more = pd.concat([fewer, pd.DataFrame({"src": [400] * 5, "dst": [80, 81, 82, 83, 84]})])
    graph = dg.Graph.from_edges(more, directed=False, parts=parts)
    after = search(graph, previous=before)
    names = after.compute().set_index("vertex")["community"]
    earlier = before.compute().set_index("vertex")["community"]
    same = names.index.intersection(earlier.index)
    changed = earlier[same] != names[same]
    assert set(earlier[same][changed]) == {0, 40}  # whose names are gone
    assert set(names[same][changed]) == {1, 42}
    assert names[400] == 80
    verify(name, graph, after, names="any")


@pytest.mark.parametrize("name", SEARCHES)
def test_earlier_communities_can_be_given_in_every_form(name):
    edges, search = planted(), SEARCHES[name]
    graph = dg.Graph.from_edges(edges, directed=False, vertices=320)
    before = search(graph)
    frame, column = before.compute(), before.by_number("community")
    for previous in (before, before.column("community"), frame, frame.set_index("vertex")["community"], column):
        assert search(graph, previous=previous).by_number("community").tolist() == column.tolist()
    renamed = np.where(column == 0, 5, column)  # a name that is not the smallest vertex
    assert (search(graph, previous=renamed).by_number("community") == renamed).all()
    assert search(graph, previous={0: 0, 1: 0}).by_number("community").tolist() == column.tolist()


def test_the_search_goes_on_from_the_earlier_division():
    """Two divisions of a ring are as good; the one that is given stays."""
    ring = dg.Graph.from_edges({"src": np.arange(12), "dst": (np.arange(12) + 1) % 12}, directed=False)
    for shift in range(3):
        begun = (np.arange(12) + shift) // 3 % 4
        begun = np.array([np.flatnonzero(begun == one)[0] for one in begun])
        found = dg.leiden(ring, previous=begun)
        assert found.by_number("community").tolist() == begun.tolist()
        assert found.totals["modularity"] == pytest.approx(dg.modularity(ring, begun))


def test_an_earlier_division_of_something_else_is_refused():
    graph = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]})
    for previous, error, text in (
        ({"a": "red", "b": "red", "c": "blue"}, IdError, "names a community 'blue', and none by a vertex"),
        ({"x": "a"}, IdError, "'x'"),
        (["a", "a"], ColumnError, "2 labels; the graph has 3 vertices"),
        ("team", ColumnError, "previous='team'"),
        (dg.bfs(graph, "a"), ColumnError, "result.column('distance')"),
    ):
        with pytest.raises(error) as raised:
            dg.leiden(graph, previous=previous)
        assert text in str(raised.value), raised.value


def test_a_cluster_keeps_the_earlier_communities(client):
    edges = planted()
    graph = dg.Graph.from_edges(edges, directed=False, vertices=320, client=client)
    before = dg.leiden(graph)
    assert dg.leiden(graph, previous=before).by_number("community").tolist() == before.by_number("community").tolist()
