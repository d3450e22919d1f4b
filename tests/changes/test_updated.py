"""A graph that was updated is the graph of the changed list of edges."""

import warnings

import pandas as pd
from changed import NAMES, RULES, ListedGraph, ask, check_alike, edges, frame_of, named, rename, updates
from hypothesis import given
from hypothesis import strategies as st

from dgraph import errors


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
