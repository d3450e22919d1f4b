"""Local ids of one partition: its own vertices, then its proxies by owner and by the edges that they have."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.errors import OptionError
from dgraph.partition import proxies
from dgraph.partition.ids.bitmaps import Ranks
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.ids.id_types import IdType
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.partition import assemble
from dgraph.partition.placement import Placement
from dgraph.partition.policies import POLICIES


@st.composite
def placed_edges(draw):
    """Bounds of some partitions, and edges between positions for each, in pieces."""
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    position = st.integers(0, max(0, int(bounds[-1]) - 1))
    edges = st.lists(st.tuples(position, position), max_size=10 if bounds[-1] else 0)
    return bounds, [draw(st.lists(edges, max_size=3)) for _ in sizes]


def columns(edges):
    return np.array(edges, np.uint32).reshape(-1, 2).T


@settings(max_examples=150)
@given(placed_edges())
def test_proxies_are_grouped_by_owner_and_by_their_edges(drawn):
    """in-edges only, both, out-edges only; by position within each. So both slices of an owner are contiguous."""
    bounds, pieces_of = drawn
    for part, pieces in enumerate(pieces_of):
        ends = [columns(piece) for piece in pieces]
        place = proxies.find_proxies(part, bounds, [end[0] for end in ends], [end[1] for end in ends])
        low, high = bounds[part], bounds[part + 1]
        sources = {u for piece in pieces for u, _ in piece if not low <= u < high}
        targets = {v for piece in pieces for _, v in piece if not low <= v < high}
        order = []
        for peer in range(len(bounds) - 1):
            theirs = range(bounds[peer], bounds[peer + 1])
            groups = [
                [v for v in theirs if v in chosen]
                for chosen in (targets - sources, targets & sources, sources - targets)
            ]
            begin = high - low + len(order)
            into, both, out = map(len, groups)
            assert place.proxies.copies("in", peer) == slice(begin, begin + into + both)
            assert place.proxies.copies("out", peer) == slice(begin + into, begin + into + both + out)
            order += [v for group in groups for v in group]
        assert place.positions.tolist() == order
        assert place.size == high - low + len(order)
        everyone = np.array([*range(low, high), *order], np.int64)
        np.testing.assert_array_equal(place.localize(everyone), np.arange(len(everyone)))


def test_more_vertices_than_local_ids_are_refused(monkeypatch):
    """Whether they are a partition's own, or copies of others'; and where there is but one."""
    monkeypatch.setattr(proxies, "MOST_LOCAL_IDS", 5)
    line = pd.DataFrame({"src": range(6), "dst": range(1, 7)})
    for parts in (1, 2):
        with pytest.raises(OptionError, match=rf"partition \d of {parts} has .*, more than the 5 that.* with parts="):
            far = line if parts == 1 else line.assign(dst=line["dst"].to_numpy()[::-1])
            dg.Graph.from_edges(far, parts=parts).partitions  # noqa: B018
    assert len(dg.Graph.from_edges(line, parts=4).partitions) == 4


@settings(max_examples=100)
@given(placed_edges())
def test_values_travel_without_ids(drawn):
    """What a partition writes into a slice, its owner finds at the address table, vertex by vertex; and back."""
    bounds, pieces_of = drawn
    halves, where = [], Placement(POLICIES["outgoing"], bounds)
    ids = Numbering(IdType("integer"), Ranks(0, int(bounds[-1])))
    for part, pieces in enumerate(pieces_of):
        ends = [columns(piece) for piece in pieces]
        halves.append(assemble(part, where, ids, [NumberedChunk(*end) for end in ends], "out"))
    found = [
        half.completed({peer: other.requests[part] for peer, other in enumerate(halves) if part in other.requests})
        for part, half in enumerate(halves)
    ]
    for one in found:
        assert one.num_edges == sum(map(len, pieces_of[one.index]))
        for peer in found:
            there = peer.proxies
            for slots, masters in (
                (one.proxies.copies("in", peer.index), there.originals("in", one.index)),
                (one.proxies.copies("out", peer.index), there.originals("out", one.index)),
            ):
                np.testing.assert_array_equal(one.numbers[slots], peer.numbers[masters])
