"""A graph that was updated is the graph of the changed list of edges."""

import warnings

import pandas as pd
from changed import ListedGraph, check_alike, frame_of, named
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
from dgraph import errors

NAMES = ("int", "sparse", "str")
RULES = st.fixed_dictionaries(
    {
        "directed": st.booleans(),
        "loops": st.sampled_from(["keep", "drop"]),
        "repeats": st.sampled_from(["keep", "keep", "first", "sum", "min", "max"]),
    }
)


def edges(most: int) -> st.SearchStrategy:
    """Edges between few vertices, so that many repeat, with weights."""
    end = st.integers(0, 6)
    return st.lists(st.tuples(end, end, st.integers(1, 9)), max_size=most)


@st.composite
def updates(draw):
    """What is added, removed and listed in each update, and what is asked of the new graph before the next one."""
    number = st.integers(0, 9)
    row = st.tuples(number, number, st.integers(1, 9))
    asked = st.sampled_from(["nothing", "nothing", "out", "incoming", "both", "plain"])
    step = st.tuples(
        st.lists(row, max_size=6), st.lists(row, max_size=5), st.lists(st.integers(0, 12), max_size=2), asked
    )
    return draw(st.lists(step, min_size=1, max_size=4))


def ask(graph: dg.Graph, what: str) -> None:
    """Have partitions built, as operations do."""
    if what != "nothing":
        orders = {"both": ("out", "incoming"), "plain": ("out",)}.get(what, (what,))
        graph.partitioned(orders, () if what == "plain" else ("w",))


def rename(rows, name):
    return [(named(u, name), named(v, name), weight) for u, v, weight in rows]


@given(edges(12), updates(), RULES, st.sampled_from(NAMES), st.sampled_from([1, 1, 1, 3]), st.data())
def test_updates_give_the_graph_of_the_changed_list(rows, steps, rules, name, parts, data):
    if rules["directed"]:
        rules["symmetrize"] = data.draw(st.sampled_from([False, False, True]))
    policy = data.draw(st.sampled_from(["auto", "incoming", "cartesian", "hybrid", "metis"])) if parts > 1 else "auto"
    listed = [ListedGraph(rename(rows, name), [named(0, name)], **rules)]
    graphs = [listed[0].graph(name, parts=parts, policy=policy)]
    ask(graphs[0], data.draw(st.sampled_from(["nothing", "out", "both", "plain"])))
    for added, removed, isolated, asked in steps:
        more, less, alone = rename(added, name), rename(removed, name), [named(one, name) for one in isolated]
        listed.append(listed[-1].updated(more, less, alone))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.MissingEdgesWarning)
            graphs.append(
                graphs[-1].updated(
                    frame_of(more, name),
                    frame_of(less, name)[["src", "dst"]],
                    vertices=pd.Series(alone, dtype=frame_of([], name)["src"].dtype),
                )
            )
        assert graphs[-1].changes.missing == listed[-1].missing
        ask(graphs[-1], asked)
    for graph, rows in zip(graphs, listed, strict=True):
        check_alike(graph, rows.graph(name, parts=parts, policy=policy))
