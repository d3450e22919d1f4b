"""Repeats merged by two stable sorts, against a dictionary."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.errors import OptionError
from dgraph.partition import rules
from dgraph.partition.ids.bitmaps import IDENTITY, Ranks
from dgraph.partition.ids.chunk import NumberedChunk

MERGE = {"first": lambda values: values[0], "sum": sum, "min": min, "max": max}
SIZE = 6
EDGES = st.lists(st.tuples(*[st.integers(0, SIZE - 1)] * 2, st.integers(-9, 9)), max_size=25)


def numbered(edges):
    sources, destinations, weights = np.array(edges, np.int64).reshape(-1, 3).T
    columns = {"weight": weights.copy(), rules.ROW: np.arange(len(edges)), rules.FLIPPED: np.zeros(len(edges), bool)}
    return NumberedChunk(sources.astype(np.uint32), destinations.astype(np.uint32), columns, IDENTITY)


@pytest.mark.parametrize("repeats", MERGE)
@settings(max_examples=50)
@given(edges=EDGES, directed=st.booleans(), skip_loops=st.booleans(), cuts=st.lists(st.integers(0, SIZE), max_size=2))
def test_repeats_merged_by_ranges_match_a_dictionary(repeats, edges, directed, skip_loops, cuts):
    """Merged in ranges of the first end, as on several workers: the same as with all edges in one place."""
    bounds = [0, *sorted(cuts), SIZE]
    chunk = numbered(edges)
    found = []
    for low, high in pairwise(bounds):
        piece = rules.piece_of(chunk, low, high, directed, skip_loops)
        merged = rules.merge_repeats([piece], SIZE, repeats=repeats, directed=directed)
        values = merged.columns["weight"], merged.columns[rules.ROW]
        found += zip(*(column.tolist() for column in (merged.sources, merged.destinations, *values)), strict=True)
    groups = {}
    for row, (u, v, w) in enumerate(edges):
        if not (skip_loops and u == v):
            groups.setdefault((u, v) if directed else (min(u, v), max(u, v)), []).append((u, v, w, row))
    expected = [
        (*groups[pair][0][:2], MERGE[repeats]([w for _, _, w, _ in groups[pair]]), groups[pair][0][3])
        for pair in sorted(groups)
    ]
    assert found == expected


@given(EDGES)
def test_reversing_twice_gives_the_edges_without_loops(edges):
    chunk = numbered(edges)
    once = rules.reverses(chunk)
    assert once.columns[rules.FLIPPED].all()
    twice = rules.reverses(once)
    kept = [edge for edge in edges if edge[0] != edge[1]]
    assert list(zip(twice.sources, twice.destinations, twice.columns["weight"], strict=True)) == kept
    assert not twice.columns[rules.FLIPPED].any()
    assert rules.count_loops(chunk) == len(edges) - len(kept)


def test_ids_are_translated_by_their_ranks():
    chunk = NumberedChunk(np.array([7, 5]), np.array([6, 5]), {}, Ranks(5, 3))
    assert rules.reverses(chunk).sources.tolist() == [1]
    assert rules.piece_of(chunk).sources.tolist() == [2, 0]
    assert chunk.dtype == np.uint32


@pytest.mark.parametrize(("loops", "repeats"), [("discard", "keep"), (None, "keep"), ("keep", "mean"), ("drop", True)])
def test_invalid_rules_are_refused(loops, repeats):
    with pytest.raises(OptionError, match="is not known; choose one of keep"):
        rules.check_rules(loops, repeats)
