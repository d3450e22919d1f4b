"""The solver of shortest paths by itself: threads, widths, pauses and weights of all sizes change no distance."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

import dgraph as dg
from dgraph.native import team
from dgraph.solvers.paths import delta_stepping, distance_slots, edge_relaxation
from dgraph.solvers.paths.distance_slots import free_chunk, number_of, take_free_chunk

pytestmark = pytest.mark.usefixtures("several_threads")


def rows_of(graph, sources):
    """A graph's rows, and distances that begin at `sources`."""
    (partition,) = graph.partitioned(("out",), ("weight",)).held
    out, n = partition.out, partition.num_owned
    dist = np.full(n, np.inf)
    dist[sources] = 0
    return delta_stepping.rows_of(out.indptr, out.neighbours, out.columns["weight"], dist, tree=True)


def scipy_distances(rows):
    n = len(rows.dist)
    source = np.repeat(np.arange(n), np.diff(rows.indptr))
    matrix = coo_array((rows.weights.astype(float), (source, rows.neighbours)), shape=(n, n)).tocsr()
    return dijkstra(matrix, indices=int(np.flatnonzero(rows.dist == 0)[0]))


def smallest_nearer(rows):
    """The smallest u with dist[u] + weight = dist[v], for every v; weights are above zero."""
    source = np.repeat(np.arange(len(rows.dist)), np.diff(rows.indptr))
    near = rows.dist[source] < np.inf
    tight = near & (rows.dist[source] + rows.weights == rows.dist[rows.neighbours])
    parent = np.full(len(rows.dist), 2**63 - 1)
    np.minimum.at(parent, rows.neighbours[tight], source[tight])
    return parent


LARGE = {
    "rmat": lambda: dg.rmat(scale=18, seed=3, weights=(1, 255), repeats="min"),
    "grid": lambda: dg.grid(rows=300, cols=300, weights=(0.5, 100.0)),
    "path": lambda: dg.grid(rows=1, cols=50_000, removed=0.0, weights=(1, 9)),
}


@pytest.mark.parametrize("name", list(LARGE))
def test_threads_slot_widths_and_little_memory_change_no_distance(name):
    rows = rows_of(LARGE[name](), [5])
    expected = scipy_distances(rows)
    for threads, factor, room in ((1, 1, None), (2, 1, None), (3, 20, None), (2, 0.1, None), (2, 1, 0)):
        one = delta_stepping.rows_of(*rows[:3], rows.dist.copy(), tree=True)
        width, waiting = (
            delta_stepping.slot_width(*one[:3]) * factor,
            distance_slots.WaitList(len(one.dist), threads, room),
        )
        delta_stepping.relax(one, np.array([5], np.uint32), delta=width, threads=threads, waiting=waiting)
        assert np.array_equal(one.dist, expected)
        assert np.array_equal(np.flatnonzero(one.improved), np.flatnonzero(one.dist < np.inf))
        assert np.array_equal(one.parent, smallest_nearer(one))


@pytest.mark.parametrize("name", ["rmat", "path"])
def test_words_hold_the_same_distances_and_predecessors(name):
    rows = rows_of(LARGE[name](), [5])
    expected, source, largest = scipy_distances(rows), np.array([5], np.uint32), int(rows.weights.max())
    rows.dist[:] = expected
    for threads, factor, room in ((1, 1, None), (2, 1, None), (3, 20, None), (2, 0.1, None), (2, 1, 0)):
        words = edge_relaxation.words_of(len(rows.dist), largest)
        words.known[source] = edge_relaxation.UNSET_HALF
        one = delta_stepping.rows_of(*rows[:3], words.dist)
        width, waiting = (
            delta_stepping.slot_width(*one[:3]) * factor,
            distance_slots.WaitList(len(one.dist), threads, room),
        )
        found = delta_stepping.relax(one, source, delta=width, threads=threads, waiting=waiting, words=words)
        assert not found.beyond and not found.flat
        dist, parent = words.split(threads)
        assert np.array_equal(dist, expected)
        assert np.array_equal(parent, smallest_nearer(rows))


@pytest.mark.parametrize("step", [0, 1, 2**30, 2**31, 2**32 - 2, 2**32 - 1, 2**40, 0.5, np.inf])
def test_distances_are_right_with_and_without_packed_words(step):
    """Around what a word holds, and with weights that none does."""
    edges = pd.DataFrame({"src": [0, 0, 1, 2, 3, 4], "dst": [1, 2, 3, 3, 4, 1], "weight": [7.0, 3, 0, 4, step, 1]})
    found = dg.sssp(dg.Graph.from_edges(edges, weight="weight", vertices=6), 0)
    assert found.by_number("distance").tolist() == [0, 7, 3, 7, 7 + step, np.inf]
    predecessors = found.compute()["predecessor"].astype("float").fillna(-1)
    assert predecessors.tolist() == [-1, 0, 0, 2, 3 if step < np.inf else -1, -1]


def test_integer_weights_are_recognized():
    for dtype in (np.float64, np.float32, np.int64, np.int32):
        assert edge_relaxation.largest_whole(np.arange(10_000).astype(dtype), 2) == 9999
    for other in (0.5, -1, np.nan, np.inf, -np.inf, 2.0**32 - 1, 1e300):
        weights = np.arange(10_000.0)
        weights[-1] = other
        assert edge_relaxation.largest_whole(weights, 2) == edge_relaxation.UNSET_HALF
    assert edge_relaxation.largest_whole(np.empty(0), 2) == 0


def test_a_search_goes_on_from_what_is_known():
    """As a partition does when messages come in: some distances are better now, and these are the frontier."""
    rows = rows_of(dg.rmat(scale=12, seed=3, weights=(1, 255)), [5])
    delta_stepping.relax(rows, np.array([5], np.uint32))
    both = delta_stepping.rows_of(*rows[:3], rows.dist.copy())
    frontier = np.array([7, 8, 900], np.uint32)
    before = both.dist.copy()
    both.dist[frontier] = np.minimum(both.dist[frontier], [0.0, 11.0, 3.0])
    delta_stepping.relax(both, frontier, threads=2)
    at_once = rows_of(dg.rmat(scale=12, seed=3, weights=(1, 255)), [5])
    at_once.dist[frontier] = np.minimum(before[frontier], [0.0, 11.0, 3.0])
    delta_stepping.relax(at_once, np.array([5, *frontier], np.uint32))
    assert np.array_equal(both.dist, at_once.dist)
    assert set(np.flatnonzero(both.dist < before)) | set(frontier) == set(np.flatnonzero(both.improved))


@pytest.mark.parametrize("name", ["rmat", "grid", "path"])
def test_a_paused_search_that_learns_shorter_paths_ends_with_exact_distances(name):
    """As partitions do that look at so many edges in a round: what they hear is near, or nearer than all who wait."""
    rows, rng = rows_of(LARGE[name](), [5]), np.random.default_rng(1)
    start = int(np.diff(rows.indptr).argmax())
    for threads, factor in ((1, 1), (2, 1), (2, 0.001)):
        one = delta_stepping.rows_of(*rows[:3], np.full(len(rows.dist), np.inf))
        one.dist[start] = 0
        delta, waiting = delta_stepping.slot_width(*one[:3]) * factor, distance_slots.WaitList(len(one.dist), threads)
        frontier, heard, pauses = np.array([start], np.uint32), {start: 0.0}, 0
        while len(frontier) or not waiting.empty:
            limit = max(1000, len(rows.neighbours) // 10)
            delta_stepping.relax(one, frontier, delta=delta, threads=threads, limit=limit, waiting=waiting)
            one.improved[:] = False
            pauses, frontier = pauses + 1, frontier[:0]
            if pauses % 2 and pauses < 8:
                reached = np.flatnonzero((one.dist < np.inf) & (one.dist > 0))
                frontier = np.unique(rng.choice(reached, 20)).astype(np.uint32)
                one.dist[frontier] *= rng.choice([0.01, 0.9], len(frontier))
                heard |= dict(zip(frontier.tolist(), one.dist[frontier].tolist(), strict=True))
        assert pauses > 3
        at_once = delta_stepping.rows_of(*rows[:3], np.full(len(one.dist), np.inf))
        at_once.dist[list(heard)] = list(heard.values())
        delta_stepping.relax(at_once, np.array(list(heard), np.uint32))
        assert np.array_equal(one.dist, at_once.dist)


def test_weights_of_all_sizes_give_exact_distances():
    """Most are tiny, and some are so large that slots of a tiny width would be too many to look at."""
    rng = np.random.default_rng(3)
    n = 3000
    weight = 10.0 ** rng.uniform(-9, 9, 6 * n)
    weight[: 3 * n] = rng.uniform(1e-9, 2e-9, 3 * n)
    ends = rng.integers(0, n, (6 * n, 2))
    for threads in (1, 2):
        frame = pd.DataFrame({"src": ends[:, 0], "dst": ends[:, 1], "weight": weight})
        graph = dg.Graph.from_edges(frame, weight="weight", vertices=n, repeats="min")
        rows = rows_of(graph, [5])
        delta_stepping.relax(rows, np.array([5], np.uint32), threads=threads)
        assert np.array_equal(rows.dist, scipy_distances(rows))
        assert np.array_equal(rows.parent, smallest_nearer(rows))


@pytest.mark.parametrize("name", ["path", "star"])
def test_threads_synchronize_rarely_if_many_windows_hold_little_work(name, monkeypatch):
    """One of them works off what little all have, wherever it is."""
    rng, n, signals = np.random.default_rng(3), 4000, np.zeros(32, np.int64)
    monkeypatch.setattr(team, "signals_here", lambda: signals)
    weight = 10.0 ** rng.uniform(-6, 6, n - 1)
    frame = pd.DataFrame({"src": np.arange(n - 1) if name == "path" else 0, "dst": np.arange(1, n), "weight": weight})
    rows = rows_of(dg.Graph.from_edges(frame, weight="weight", directed=False), [0])
    delta_stepping.relax(rows, np.array([0], np.uint32), threads=2)
    assert np.array_equal(rows.dist, np.append(0, np.cumsum(weight) if name == "path" else weight))
    assert signals[team.ROUND] < 100


def test_few_edges_are_relaxed_twice_for_any_weights():
    rng, n, m = np.random.default_rng(3), 3000, 30_000
    ends = rng.integers(0, n, (m, 2))
    for weight in (10.0 ** rng.uniform(-6, 6, m), rng.exponential(1.0, m), np.full(m, 7.0), rng.integers(1, 256, m)):
        frame = pd.DataFrame({"src": ends[:, 0], "dst": ends[:, 1], "weight": weight})
        rows = rows_of(dg.Graph.from_edges(frame, weight="weight", vertices=n), [5])
        assert delta_stepping.relax(rows, np.array([5], np.uint32)).edges < 1.3 * m


def test_no_distance_is_too_far_to_be_told_from_others():
    exponents = np.linspace(-20, 308, 2000)
    near = 10.0**exponents
    distances = np.unique(np.concatenate([near, np.nextafter(near, np.inf), 2.0**53 + np.arange(-9.0, 9.0)]))
    numbers = np.array([number_of(distance, 1.0) for distance in distances.tolist()])
    assert (np.diff(numbers)[distances[:-1] >= 2.0**53] > 0).all()
    assert (np.diff(numbers) >= 0).all() and number_of(np.inf, 1.0) < distance_slots.NO_NUMBER


@team.kernel
def passed_on(taker, giver, times):
    """Whether there is a chunk as often as one thread takes it and another gives it back."""
    for _ in range(times):
        chunk = take_free_chunk(taker)
        if chunk < 0:
            return False
        free_chunk(chunk, giver)
    return True


def test_a_chunk_that_another_thread_gives_back_is_not_lost():
    """Else a search of many windows found no room for those who wait, and began anew for ever."""
    waiting = distance_slots.WaitList(64, 2)
    lists = waiting.tails, waiting.marks, waiting.spare
    one, other = (
        distance_slots.SlotLists(*(each[r] for each in lists), waiting.pool, waiting.chained, waiting.shared)
        for r in (0, 1)
    )
    for taker, giver in ((one, other), (other, one), (one, one)):
        assert passed_on(taker, giver, 3 * len(waiting.chained))
    assert not waiting.shared[distance_slots.DROPPED]
