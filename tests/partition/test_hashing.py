"""Every row has the code of its own id, and no id is in two lists: whatever its bytes, its piece and its thread."""

from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.native import threads
from dgraph.partition.ids import id_tables

TEXT = [pa.string(), pa.large_string()]
LONG = st.integers(0, 40).flatmap(lambda size: st.text("ab", min_size=size, max_size=size))


def check(sides, kind):
    lists, codes = id_tables.distinct([list(side) for side in sides], kind)
    known = [one.to_pylist() for one in lists]
    for side, code in zip(sides, codes, strict=True):
        found = [known[c % len(known)][c // len(known)] for c in code.tolist()]
        assert found == list(chain.from_iterable(piece.to_pylist() for piece in side))
    everything = {value for side in sides for piece in side for value in piece.to_pylist()}
    assert sorted(chain.from_iterable(known)) == sorted(everything)
    assert all(one.type == kind for one in lists)
    for one in lists:
        one.validate(full=True)
    return lists


@pytest.fixture(params=[1, 3])
def team(request, monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: request.param)
    monkeypatch.setattr(threads, "FEWEST_ENTRIES", 1)


@settings(max_examples=40)
@given(pieces=st.lists(st.lists(LONG | st.text(max_size=9), max_size=12), max_size=4), skip=st.integers(0, 3))
def test_text_of_any_length_in_pieces_gets_the_right_codes(pieces, skip):
    """Both kinds of text that Arrow has, and slices of arrays, whose bytes do not begin at the first."""
    sides = [[pa.array(["other"] * skip + piece, kind)[skip:] for piece in pieces] for kind in TEXT]
    check(sides, pa.large_string())


def test_tables_grow(team):
    """Many ids, and one of more bytes than there is room for at first."""
    names = [f"{'name' * (k % 7)}{k}" for k in range(5000)]
    lists = check([[pa.array([*names, "long" * 10_000])], [pa.array(names[::-1])]], pa.large_string())
    assert all(map(len, lists))


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int32])
def test_integers_of_every_type_get_the_right_codes(kind, team):
    draw = np.random.default_rng(3)
    ids = pa.array(draw.integers(0, np.iinfo(kind).max, 3000, kind)).take(pa.array(draw.integers(0, 3000, 9000)))
    check([[ids[5:], ids[:5]], []], ids.type)


def test_binary_ids_get_the_right_codes(team):
    ids = pa.array([bytes([k % 256] * 15 + [k % 7]) for k in range(4000)], pa.binary(16))
    check([[ids[3:]], [ids]], ids.type)
