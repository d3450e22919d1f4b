"""A bitmap with ranks against Python's sets and sorted lists."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dgraph.native import threads
from dgraph.partition.ids.bitmaps import Ranks, bitmap, union

BASES = st.sampled_from([0, -7, 5, 1 << 40, -(1 << 63), (1 << 63) - 2000])


@settings(max_examples=150)
@given(members=st.sets(st.integers(0, 1999), min_size=1), base=BASES)
@example(members=set(range(64)), base=0)
@example(members=set(range(65)), base=-1)
@example(members={0, 63, 64, 127, 128}, base=0)
@example(members={1999}, base=0)
def test_ranks_match_a_sorted_list(members, base):
    ids = np.array([base + member for member in members], np.int64)
    low, high = int(ids.min()), int(ids.max())
    ranks = Ranks.of_bitmap(low, bitmap([ids, ids[:3]], low, high))
    in_order = np.sort(ids)
    assert ranks.size == len(members)
    assert ranks.is_dense == (high - low + 1 == len(members))
    np.testing.assert_array_equal(ranks.members(), in_order)
    np.testing.assert_array_equal(ranks.number(ids), np.searchsorted(in_order, ids))
    assert ranks.number(ids, np.uint32).dtype == np.uint32


@settings(max_examples=50)
@given(st.lists(st.sets(st.integers(0, 300)), min_size=1, max_size=5))
def test_the_union_of_bitmaps_is_the_union_of_sets(sets):
    bitmaps = [bitmap([np.array(sorted(one), np.int64)], 0, 300) for one in sets]
    both = set().union(*sets)
    assert Ranks.of_bitmap(0, union(bitmaps)).members().tolist() == sorted(both) or not both


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_integers_of_every_width_are_ranked(dtype):
    ids = np.array([100, 3, 3, 90, 64, 65], dtype)
    ranks = Ranks.of_bitmap(3, bitmap([ids], 3, 100))
    assert ranks.number(ids).tolist() == [4, 0, 0, 3, 1, 2]


def test_many_ids_are_ranked_by_several_threads():
    draw = np.random.default_rng(0)
    ids = draw.integers(-(10**5), 10**5, 5 * threads.FEWEST_ENTRIES)
    ranks = Ranks.of_bitmap(int(ids.min()), bitmap([ids[::2], ids[1::2]], int(ids.min()), int(ids.max())))
    distinct, inverse = np.unique(ids, return_inverse=True)
    np.testing.assert_array_equal(ranks.members(), distinct)
    np.testing.assert_array_equal(ranks.number(ids), inverse)


def test_dense_ranges_need_no_bitmap():
    ranks = Ranks(-3, 5)
    assert ranks.is_dense
    assert ranks.members().tolist() == [-3, -2, -1, 0, 1]
    assert ranks.number(np.array([1, -3])).tolist() == [4, 0]


@pytest.mark.parametrize("ranks", [Ranks(3, 128), Ranks.of_bitmap(3, bitmap([np.array([3, 5, 130])], 3, 130))], ids=str)
def test_the_first_id_that_is_no_member_is_named(ranks):
    members = ranks.members()
    assert ranks.missing(members) is None
    for other in (2, 131, -1, 1 << 40):
        assert ranks.missing(np.append(members, [other, other + 1])) == other
