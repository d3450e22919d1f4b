"""Labels of communities in every form that users give, and what is wrong with them."""

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.communities.labels import read_labels
from dgraph.errors import ColumnError, IdError, InputError, OptionError

EDGES = {"src": ["a", "b", "c", "d"], "dst": ["b", "c", "a", "e"]}
TEAMS = {"a": "red", "b": "red", "c": "blue", "d": "red", "e": "blue"}
VERTICES = pd.DataFrame({"id": list(TEAMS), "team": list(TEAMS.values())})


def graph(**options):
    return dg.Graph.from_edges(EDGES, vertices=VERTICES, **options)


FORMS = {
    "mapping": TEAMS,
    "series": pd.Series(TEAMS).sample(frac=1, random_state=1),
    "frame": VERTICES.iloc[::-1],
    "vertex column": "team",
    "list": list(TEAMS.values()),
    "array": np.array(list(TEAMS.values())),
    "categories": pd.Series(TEAMS, dtype="category"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("parts", [1, 3])
def test_all_forms_give_the_same_labels(form, parts):
    read = read_labels(graph(parts=parts), FORMS[form])
    assert read.names.tolist() == ["blue", "red"]
    assert read.codes.tolist() == [1, 1, 0, 1, 0]
    assert read.count == 2


@pytest.mark.parametrize("parts", [1, 3])
def test_columns_of_results_are_labels(parts):
    g = graph(parts=parts)
    read = read_labels(g, dg.wcc(g))
    assert (read.names.tolist(), read.codes.tolist()) == (["a", "d"], [0, 0, 0, 1, 1])
    read = read_labels(g, dg.core_number(g).column("core"))
    assert (read.names.tolist(), read.codes.tolist()) == ([1, 2], [1, 1, 1, 0, 0])


def test_integer_labels_keep_their_values():
    read = read_labels(graph(), np.array([70, -3, 70, 5, -3]))
    assert (read.names.tolist(), read.codes.tolist()) == ([-3, 5, 70], [2, 0, 2, 1, 0])


@pytest.mark.parametrize(
    ("labels", "error", "text"),
    [
        ({**TEAMS, "zoe": "red"}, IdError, "'zoe'"),
        ({"a": 1, "b": 1}, ColumnError, "3 vertices, the first is 'c'"),
        ({**TEAMS, "b": None}, ColumnError, "1 vertex, 'b'"),
        (pd.Series([1, 2, 1, 1, 1, 1], index=list("abcdea")), OptionError, "'a' more than once"),
        (VERTICES.assign(more=1), OptionError, "['id', 'team', 'more']"),
        ([1, 2, 3], ColumnError, "3 labels; the graph has 5 vertices"),
        ("group", ColumnError, "'group'"),
        (np.array([1.0, np.nan, 2.0, 2.0, 2.0]), ColumnError, "'b'"),
        (7, InputError, "labels= is a int"),
        (np.zeros((5, 2)), ColumnError, "shape (5, 2)"),
        ([[1], [1], [1], [1], [1]], InputError, "groups of vertices"),
        ([{"a": 1}] * 5, ColumnError, "cannot be compared"),
        ([1e17, 1.0, 1.0, 1.0, 2.0], ColumnError, "beyond 2**53"),
        (pd.Series(range(5), index=pd.MultiIndex.from_arrays([list("abcde")] * 2)), ColumnError, "several levels"),
    ],
)
def test_wrong_labels_are_refused(labels, error, text):
    with pytest.raises(error) as raised:
        read_labels(graph(), labels)
    assert text in str(raised.value)


def test_results_that_are_not_labels_are_refused():
    g, other = graph(), dg.Graph.from_edges({"src": [0, 1, 2, 3], "dst": [1, 2, 3, 4]})
    for labels, text in (
        (dg.bfs(g, "a"), "result.column('distance')"),
        (dg.wcc(other), "a result for other vertices"),
        (dg.bfs(g, "a").column("predecessor"), "no label for 3 vertices"),
    ):
        with pytest.raises(ColumnError) as raised:
            read_labels(g, labels)
        assert text in str(raised.value), raised.value


def test_large_integers_beside_a_missing_label_are_not_rounded():
    first = 2**60
    labels = {v: first + i for i, v in enumerate(TEAMS)}
    assert read_labels(graph(), labels).names.tolist() == [first + i for i in range(5)]
    with pytest.raises(ColumnError, match="no label for 1 vertex"):
        read_labels(graph(), {**labels, "e": None})
