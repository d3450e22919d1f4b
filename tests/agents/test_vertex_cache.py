"""The cache of a daemon's vertices against a plain one: who has which slot, what is looked at, what is given away."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dgraph.agents.vertex_cache import BLOCKS_IN_FLIGHT, SLOTS_PER_VICTIM, VertexCache

VERTICES = 40
blocks = st.lists(st.lists(st.integers(0, VERTICES - 1), min_size=1, max_size=30), min_size=1, max_size=12)


@given(requests=st.lists(blocks, min_size=1, max_size=4), slots=st.integers(0, VERTICES))
def test_every_cached_vertex_has_one_slot_and_is_examined_once(requests, slots):
    cache, area = VertexCache(slots, VERTICES), VERTICES
    holds, used = {}, {}  # slot -> vertex, and the last block of the slot
    number = 0
    for request in requests:
        cache.begin_request()
        seen = set()
        for ids in request:
            number += 1
            victims = cache.victims()
            assert all(used[slot] < number - 1 - BLOCKS_IN_FLIGHT for slot in victims)
            cache.free_slots(victims)
            for slot in victims:
                seen.discard((holds.pop(slot), slot))
            out = np.zeros(len(ids), np.uint32)
            found = cache.find(np.array(ids, np.uint32), area, out)
            places = dict(zip(ids, out.tolist(), strict=True))
            assert all(places[u] == place for u, place in zip(ids, out.tolist(), strict=True))
            assert len(set(places.values())) == len(places)
            assert [places[u] for u in found.spilled.tolist()] == list(range(area, area + len(found.spilled)))
            for u, slot in zip(found.ids.tolist(), found.slots.tolist(), strict=True):
                assert places[u] == slot and (u, slot) not in seen
                assert holds.setdefault(slot, u) == u
                seen.add((u, slot))
            for u in set(ids) - set(found.spilled.tolist()):
                assert holds[places[u]] == u and (u, places[u]) in seen
                used[places[u]] = number
            assert len(holds) + cache.empty == slots or slots == VERTICES
        assert {slot for _, slot in seen} <= set(cache.used_slots().tolist())


def test_the_least_used_vertices_are_evicted_first_and_use_counts_decay():
    """A vertex of every block stays when others need slots; one that was used a lot long ago does not."""
    cache, out = VertexCache(SLOTS_PER_VICTIM, 100), np.zeros(8, np.uint32)
    for request in range(8):
        cache.begin_request()
        for block in range(4):
            ids = [0, 1] if request == 0 else [0, 10 + request] if block else [0]
            cache.find(np.array(ids, np.uint32), SLOTS_PER_VICTIM, out)
    for block in range(BLOCKS_IN_FLIGHT + 1):  # till none of them is in flight
        cache.find(np.array([99 - block], np.uint32), SLOTS_PER_VICTIM, out)
    (victim,) = cache.victims()
    assert cache.owner[victim] == 1
